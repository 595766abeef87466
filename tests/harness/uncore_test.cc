// DRAM traffic with simulated memory controllers: the content of sysfs and the results of the
// kernel.

#include "harness/counters/uncore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "harness/measure/measure.h"
#include "harness/results/stage_record.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class ControllerSysfs {
 public:
  ControllerSysfs() { Add("cpu", 4, ""); }
  std::string path() const { return folder_.path(); }

  void Add(const std::string& pmu, int type, const std::string& cpumask) {
    std::filesystem::create_directories(folder_.path() / pmu / "events");
    std::filesystem::create_directories(folder_.path() / pmu / "format");
    Write(pmu + "/type", std::to_string(type));
    if (!cpumask.empty()) Write(pmu + "/cpumask", cpumask);
  }
  void Write(const std::string& file, const std::string& text) { folder_.Write(file, text + "\n"); }
  // A server's controller as in uncore_snbep.c.
  void AddImc(int number, int type) {
    const std::string pmu = "uncore_imc_" + std::to_string(number);
    Add(pmu, type, "0,28");
    Write(pmu + "/format/event", "config:0-7");
    Write(pmu + "/format/umask", "config:8-15");
    Write(pmu + "/events/clockticks", "event=0xff,umask=0x10");
    for (const auto& [name, terms] : {std::pair{"cas_count_read", "event=0x04,umask=0x03"},
                                      {"cas_count_write", "event=0x04,umask=0x0c"}}) {
      const std::string event = pmu + "/events/" + name;
      Write(event, terms);
      Write(event + ".scale", "6.103515625e-5");
      Write(event + ".unit", "MiB");
    }
  }

 private:
  TestFolder folder_;
};

// Controllers that count `rate` lines per unit of work, by type, CPU and code.
class FakeControllers {
 public:
  using Key = std::tuple<std::uint32_t, int, std::uint64_t>;
  int refuse = 0;                      // errno of every event
  std::set<std::uint32_t> starved;     // types whose events never get on a counter
  std::size_t counters = 4;            // of each controller
  std::map<Key, std::uint64_t> rates;  // default: 1

  void Work(std::uint64_t units) { work_ += units; }
  std::size_t open_events() const { return events_.size(); }

  PerfSyscalls Calls() {
    return {.open = [this](const perf_event_attr& attr, pid_t thread, int cpu,
                           int group) { return thread == -1 ? Open(attr, cpu, group) : -EINVAL; },
            .read =
                [this](int fd, void* buffer, std::size_t bytes) {
                  return Read(fd, static_cast<std::uint64_t*>(buffer), bytes);
                },
            .control = [](int, unsigned long, unsigned long) { return 0; },
            .close = [this](int fd) { EXPECT_EQ(events_.erase(fd), 1u); }};
  }

 private:
  struct Event {
    Key key;
    int leader;
    std::uint64_t since;
  };

  int Open(const perf_event_attr& attr, int cpu, int group) {
    if (refuse != 0) return -refuse;
    if (attr.exclude_kernel != 0 || attr.exclude_hv != 0) return -EINVAL;  // as uncore drivers do
    const int fd = next_++;
    const int leader = group < 0 ? fd : group;
    std::size_t members = 1;
    for (const auto& [other, event] : events_) members += event.leader == leader ? 1 : 0;
    if (members > counters) return -EINVAL;
    events_[fd] = {{attr.type, cpu, attr.config}, leader, work_};
    return fd;
  }

  ssize_t Read(int fd, std::uint64_t* values, std::size_t bytes) {
    const std::uint64_t lasted = ++clock_;
    const bool runs = !starved.contains(std::get<0>(events_.at(fd).key));
    std::vector<std::uint64_t> answer = {0, lasted, runs ? lasted : 0};
    for (const auto& [member, event] : events_) {
      if (event.leader != fd) continue;
      ++answer[0];
      const std::uint64_t rate = rates.contains(event.key) ? rates[event.key] : 1;
      answer.push_back(runs ? (work_ - event.since) * rate : 0);
    }
    if (answer.size() * sizeof answer[0] > bytes) return -ENOSPC;
    std::copy(answer.begin(), answer.end(), values);
    return static_cast<ssize_t>(answer.size() * sizeof answer[0]);
  }

  std::map<int, Event> events_;
  int next_ = 10;
  std::uint64_t work_ = 7;
  std::uint64_t clock_ = 0;
};

UncoreSetting SettingOf(FakeControllers& controllers, const ControllerSysfs& sysfs) {
  UncoreSetting setting;
  setting.calls = controllers.Calls();
  setting.sysfs = sysfs.path();
  return setting;
}

TEST(UncoreTest, ServersHaveNamesForReadsAndWrites) {
  ControllerSysfs sysfs;
  sysfs.AddImc(0, 20);
  sysfs.AddImc(1, 21);
  const auto events = FindDramEvents(sysfs.path());
  ASSERT_EQ(events.size(), 8u);  // two controllers on two sockets
  EXPECT_EQ(events[0].pmu, "uncore_imc_0");
  EXPECT_EQ(events[0].type, 20u);
  EXPECT_EQ(events[0].config, 0x304u);
  EXPECT_EQ(events[0].cpu, 0);
  EXPECT_FALSE(events[0].write);
  EXPECT_DOUBLE_EQ(events[0].bytes, 64);
  EXPECT_EQ(events[1].config, 0xC04u);
  EXPECT_TRUE(events[1].write);
  EXPECT_EQ(events[2].cpu, 28);
  EXPECT_EQ(events[7].pmu, "uncore_imc_1");
}

TEST(UncoreTest, SubChannelsAreSummedAndClientsHaveOtherNames) {
  ControllerSysfs sysfs;
  sysfs.Add("uncore_imc_0", 20, "0");
  for (const char* event : {"cas_count_read_sch0", "cas_count_read_sch1", "cas_count_write_sch0",
                            "cas_count_write_sch1", "cas_counting"}) {
    sysfs.Write(std::string("uncore_imc_0/events/") + event, "event=0x05,umask=0xcf");
  }
  sysfs.Add("uncore_imc_free_running_0", 30, "0");
  sysfs.Write("uncore_imc_free_running_0/events/data_read", "event=0xff,umask=0x20");
  sysfs.Write("uncore_imc_free_running_0/events/data_read.scale", "61.03515625");
  const auto server = FindDramEvents(sysfs.path());
  ASSERT_EQ(server.size(), 4u);
  EXPECT_FALSE(server[1].write);
  EXPECT_TRUE(server[2].write);
  std::filesystem::remove_all(sysfs.path() + "/uncore_imc_0");
  const auto client = FindDramEvents(sysfs.path());
  ASSERT_EQ(client.size(), 1u);
  EXPECT_DOUBLE_EQ(client[0].bytes, 61.03515625);
}

TEST(UncoreTest, AmdsControllersUseCodes) {
  ControllerSysfs sysfs;
  sysfs.Add("amd_df", 11, "0");
  sysfs.Write("amd_df/format/event", "config:0-7,32-37");
  sysfs.Write("amd_df/format/umask", "config:8-15,24-27");
  const auto fabric = FindDramEvents(sysfs.path());
  ASSERT_EQ(fabric.size(), 24u);
  EXPECT_EQ(fabric[0].config, 0x0F00FE1Fu);
  EXPECT_EQ(fabric[11].config, 0x20F00FEDFu);  // channel 11: event 0x2df
  EXPECT_EQ(fabric[12].config, 0x0F00FF1Fu);
  EXPECT_EQ(fabric[12].pass, 1u);
  // Before Zen 4 the mask has 8 bits.
  sysfs.Write("amd_df/format/umask", "config:8-15");
  EXPECT_TRUE(FindDramEvents(sysfs.path()).empty());
  sysfs.Add("amd_umc_0", 12, "0");
  sysfs.Write("amd_umc_0/format/event", "config:0-7");
  sysfs.Write("amd_umc_0/format/rdwrmask", "config:8-9");
  const auto umc = FindDramEvents(sysfs.path());
  ASSERT_EQ(umc.size(), 2u);
  EXPECT_EQ(umc[0].config, 0x10Au);
  EXPECT_EQ(umc[1].config, 0x20Au);
  EXPECT_TRUE(umc[1].write);
}

TEST(UncoreTest, TheBytesOfEachStageAreSummedOverSockets) {
  ControllerSysfs sysfs;
  sysfs.AddImc(0, 20);
  sysfs.AddImc(1, 21);
  FakeControllers controllers;
  controllers.rates[{20, 28, 0x304}] = 5;  // reads of the second socket
  OpenedUncore uncore = OpenUncore(SettingOf(controllers, sysfs));
  ASSERT_TRUE(uncore.source) << uncore.availability.reason;
  EXPECT_THAT(uncore.availability.reason, HasSubstr("2 memory controllers of 2 sockets"));
  EXPECT_EQ(controllers.open_events(), 0u);
  auto work = [&] { controllers.Work(1000); };
  auto more = [&] { controllers.Work(3000); };
  const std::vector<TimedStage> stages = {{"work", Action::Of(work)}, {"more", Action::Of(more)}};
  MeasureOptions options;
  options.iterations = 4;
  options.sources = {uncore.source.get()};
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(controllers.open_events(), 0u);
  StageSamples stage = samples.stages[1];
  stage.seconds = {1e-3};
  stage.selection = {};
  stage.empty_seconds = 0;
  const Record record = RecordOf(stage, samples.events, {}, "in-network");
  // Reads: 5 and three times 1 per unit; writes: four times 1.
  EXPECT_DOUBLE_EQ(record.events.at("dram/read_bytes").value(), 3000 * 8 * 64.0);
  EXPECT_DOUBLE_EQ(record.events.at("dram/write_bytes").value(), 3000 * 4 * 64.0);
  EXPECT_DOUBLE_EQ(record.DramBytesPerSecond().value(), 3000 * 12 * 64 / 1e-3);
  EXPECT_EQ(record.running_fraction, 1);
  stage.counts.clear();
  EXPECT_FALSE(RecordOf(stage, {}, {}, "").DramBytesPerSecond());
}

// Xeon Max: the kernel names no events of uncore_hbm.
TEST(UncoreTest, ControllersThatCannotBeCountedMakeTheBytesAbsent) {
  ControllerSysfs sysfs;
  sysfs.AddImc(0, 20);
  sysfs.Add("uncore_hbm_0", 40, "0,28");
  FakeControllers controllers;
  const OpenedUncore uncore = OpenUncore(SettingOf(controllers, sysfs));
  EXPECT_FALSE(uncore.source);
  EXPECT_FALSE(uncore.availability.works);
  EXPECT_THAT(uncore.availability.reason, HasSubstr("uncore_hbm"));
}

TEST(UncoreTest, TheDataFabricCountsReadsAndWritesInSeparatePasses) {
  ControllerSysfs sysfs;
  sysfs.Add("amd_df", 11, "0");
  sysfs.Write("amd_df/format/event", "config:0-7,32-37");
  sysfs.Write("amd_df/format/umask", "config:8-15,24-27");
  FakeControllers controllers;
  EXPECT_FALSE(OpenUncore(SettingOf(controllers, sysfs)).source);  // four counters
  controllers.counters = 16;
  OpenedUncore uncore = OpenUncore(SettingOf(controllers, sysfs));
  ASSERT_TRUE(uncore.source) << uncore.availability.reason;
  ASSERT_EQ(uncore.source->passes(), 2u);
  uncore.source->Begin(1);
  std::vector<std::uint64_t> before(uncore.source->slots());
  std::vector<std::uint64_t> after(uncore.source->slots());
  uncore.source->Read(before.data());
  controllers.Work(10);
  uncore.source->Read(after.data());
  const auto counts = uncore.source->Fold(before, after);
  EXPECT_FALSE(counts[0].value);
  EXPECT_DOUBLE_EQ(counts[1].value.value(), 12 * 10 * 64);
  // A failed reading gives no count.
  std::fill(after.begin(), after.end(), 0);
  EXPECT_FALSE(uncore.source->Fold(before, after)[1].value);
}

TEST(UncoreTest, AControllerThatIsRefusedLaterGivesAbsentCountsWithTheReason) {
  ControllerSysfs sysfs;
  sysfs.AddImc(0, 20);
  FakeControllers controllers;
  const OpenedUncore uncore = OpenUncore(SettingOf(controllers, sysfs));
  ASSERT_TRUE(uncore.source);
  struct Case {
    int error;
    std::string name, remedy;
  };
  for (const Case& c : std::vector<Case>{{EMFILE, "EMFILE", "ulimit -n"},
                                         {EACCES, "EACCES", "perf_event_paranoid=0"},
                                         {ENOSPC, "ENOSPC", "--metrics"},
                                         {EBUSY, "EBUSY", "end the other profiler"}}) {
    controllers.refuse = c.error;
    uncore.source->Begin(0);
    std::vector<std::uint64_t> raw(uncore.source->slots());
    uncore.source->Read(raw.data());
    for (const EventCount& count : uncore.source->Fold(raw, raw)) {
      EXPECT_FALSE(count.value);
      EXPECT_THAT(count.reason, HasSubstr(c.name));
      EXPECT_THAT(count.reason, HasSubstr(c.remedy));
    }
    uncore.source->End();
  }
  controllers.refuse = 0;
  uncore.source->Begin(0);
  std::vector<std::uint64_t> before(uncore.source->slots());
  std::vector<std::uint64_t> after(uncore.source->slots());
  uncore.source->Read(before.data());
  uncore.source->Read(after.data());
  for (const EventCount& count : uncore.source->Fold(before, after)) {
    EXPECT_TRUE(count.value);
    EXPECT_EQ(count.reason, "");
  }
}

TEST(UncoreTest, AFailureGivesTheReasonAndTheRemedy) {
  struct Case {
    int error;
    PerfSurroundings here;
    std::string reason, remedy;
  };
  ControllerSysfs sysfs;
  FakeControllers controllers;
  UncoreSetting setting = SettingOf(controllers, sysfs);
  EXPECT_THAT(OpenUncore(setting).availability.reason,
              HasSubstr("lists no supported memory controller"));
  EXPECT_THAT(OpenUncore(setting).availability.remedy, HasSubstr("modprobe"));
  setting.surroundings.virtual_machine = true;
  EXPECT_THAT(OpenUncore(setting).availability.reason, HasSubstr("hypervisor"));
  sysfs.AddImc(0, 20);
  for (const Case& c : std::vector<Case>{
           {EACCES, {.paranoid = 1}, "paranoid at 1", "perf_event_paranoid=0"},
           {EPERM, {.seccomp_filtered = true}, "seccomp", "--cap-add PERFMON"},
           {EACCES, {.paranoid = 2, .container = true}, "CAP_PERFMON", "--cap-add PERFMON"},
           {EINVAL, {}, "EINVAL", "--metrics"}}) {
    controllers.refuse = c.error;
    setting.surroundings = c.here;
    const OpenedUncore uncore = OpenUncore(setting);
    EXPECT_FALSE(uncore.source);
    EXPECT_FALSE(uncore.availability.works);
    EXPECT_THAT(uncore.availability.reason, HasSubstr(c.reason));
    EXPECT_THAT(uncore.availability.remedy, HasSubstr(c.remedy));
    EXPECT_EQ(controllers.open_events(), 0u);
  }
  controllers.refuse = 0;
  controllers.starved = {20};
  setting.surroundings = {};
  EXPECT_THAT(OpenUncore(setting).availability.reason, HasSubstr("never count"));
}

}  // namespace
}  // namespace topdnn
