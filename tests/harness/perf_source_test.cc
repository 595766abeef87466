// From metrics by name to counts of every thread, with a simulated PMU.

#include "harness/counters/perf_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <tuple>

#include "harness/counters/core_types.h"
#include "harness/measure/measure.h"
#include "harness/results/stage_record.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/perf_events.h"
#include "harness/topdown/requests.h"
#include "tests/harness/fake_pmu.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

constexpr char kNoSysfs[] = "/nonexistent";

PerfSetting SettingOf(FakePmu& pmu, const std::string& cpu) {
  PerfSetting setting;
  setting.calls = pmu.Calls();
  setting.cpu.microarchitecture = cpu;
  setting.cpu.vendor = "Vendor";
  setting.sysfs = kNoSysfs;
  setting.threads = [] { return std::vector<pid_t>{0}; };
  return setting;
}

// A folder that lists the pseudo-events of PERF_METRICS, as /sys/bus/event_source/devices does.
class MetricsSysfs {
 public:
  MetricsSysfs() {
    folder_.Write("cpu/type", "4\n");
    folder_.Write("cpu/events/slots", "event=0x00,umask=0x4\n");
    folder_.Write("cpu/events/topdown-retiring", "event=0x00,umask=0x80\n");
  }
  std::string path() const { return folder_.path(); }

 private:
  TestFolder folder_;
};

std::set<std::string> NamesOf(const CounterSource& source) {
  std::set<std::string> names;
  for (const std::string& name : source.events()) names.insert(name.substr(0, name.find('#')));
  return names;
}

TEST(PerfPlan, CountsInPassesIfEventsDoNotFitAtOnce) {
  FakePmu pmu;
  const OpenedPerf perf = OpenPerf({"topdown-l2"}, SettingOf(pmu, "zen4"));
  ASSERT_TRUE(perf.source) << perf.availability.reason;
  EXPECT_THAT(perf.availability.reason, HasSubstr("6 free counters; Top-Down of zen4"));
  EXPECT_TRUE(perf.notes.empty());
  // Twelve events of the table, and instructions. Each pass has cycles and five more.
  EXPECT_EQ(perf.source->passes(), 3u);
  EXPECT_EQ(NamesOf(*perf.source).size(), 13u);
  EXPECT_EQ(perf.source->events().size(), 13u + 2u);
  for (std::size_t pass = 0, at = 0; pass < 3; ++pass) {
    const std::string again = pass == 0 ? "" : "#" + std::to_string(pass + 1);
    EXPECT_EQ(perf.source->events()[at], "ls_not_halted_cyc" + again);
    while (at < perf.source->events().size() && perf.source->pass_of(at) == pass) ++at;
  }
  EXPECT_EQ(pmu.open_events(), 0u);
}

TEST(PerfPlan, AHeldCounterOnlyAddsAPass) {
  FakePmu pmu;
  pmu.held = 1;
  PerfSetting setting = SettingOf(pmu, "zen4");
  setting.surroundings.watchdog = true;
  const OpenedPerf perf = OpenPerf({"topdown-l2"}, setting);
  ASSERT_TRUE(perf.source);
  EXPECT_THAT(perf.availability.reason, HasSubstr("5 free counters"));
  EXPECT_THAT(perf.availability.remedy, HasSubstr("sysctl kernel.nmi_watchdog=0"));
  EXPECT_EQ(NamesOf(*perf.source).size(), 13u);
}

TEST(PerfPlan, ARefusedEventIsOmittedWithItsErrno) {
  FakePmu pmu;
  pmu.refused[0x1000000C2] = EOPNOTSUPP;  // ex_ret_ucode_ops
  const OpenedPerf perf = OpenPerf({"topdown-l2"}, SettingOf(pmu, "zen4"));
  ASSERT_TRUE(perf.source);
  EXPECT_THAT(perf.notes, testing::ElementsAre("ex_ret_ucode_ops is refused (EOPNOTSUPP)"));
  EXPECT_FALSE(NamesOf(*perf.source).contains("ex_ret_ucode_ops"));
}

TEST(PerfPlan, WithoutAnyEventItGivesTheReason) {
  struct Case {
    int error;
    PerfSurroundings here;
    std::string reason, remedy;
  };
  for (const Case& c : std::vector<Case>{
           {ENOENT, {.virtual_machine = true}, "hypervisor", ""},
           {EACCES, {.paranoid = 3}, "perf_event_paranoid is 3", "perf_event_paranoid=1"},
           {EPERM, {.seccomp_filtered = true}, "seccomp", "--cap-add PERFMON"},
           {EPERM, {.container = true}, "CAP_PERFMON", "--cap-add PERFMON"},
           {EMFILE, {}, "EMFILE", "ulimit -n"},
           {ECHILD, {}, "ECHILD", "--metrics"}}) {
    FakePmu pmu;
    pmu.refuse_all = c.error;
    PerfSetting setting = SettingOf(pmu, "zen4");
    setting.surroundings = c.here;
    const OpenedPerf perf = OpenPerf({}, setting);
    EXPECT_FALSE(perf.source);
    EXPECT_FALSE(perf.availability.works);
    EXPECT_THAT(perf.availability.reason, HasSubstr(c.reason));
    EXPECT_THAT(perf.availability.remedy, HasSubstr(c.remedy));
  }
  FakePmu taken;
  taken.held = taken.counters;
  PerfSetting setting = SettingOf(taken, "zen4");
  setting.surroundings.watchdog = true;
  const OpenedPerf perf = OpenPerf({}, setting);
  EXPECT_FALSE(perf.source);
  EXPECT_THAT(perf.availability.reason, HasSubstr("NMI watchdog"));
}

TEST(PerfPlan, TheReasonOfTheCommonEventComesFirst) {
  FakePmu pmu;
  pmu.refused = {{1, ENOENT}, {2, EACCES}};
  const PerfPlan plan = PlanPerf(pmu.Calls(),
                                 {{.event = {"a", PERF_TYPE_RAW, 1, "raw"}, .needs = {.name = "a"}},
                                  {.event = {"cycles", PERF_TYPE_RAW, 2, "raw"},
                                   .needs = {.name = "cycles", .fixed = true},
                                   .common = true}},
                                 SpinForATrial);
  EXPECT_TRUE(plan.passes.empty());
  ASSERT_EQ(plan.absent.size(), 2u);
  EXPECT_EQ(plan.absent[0].name, "cycles");
  EXPECT_EQ(plan.absent[0].error, EACCES);
  EXPECT_EQ(plan.absent[1].error, ENOENT);
}

TEST(PerfPlan, AnUnknownCpuCountsOnlyCyclesAndInstructions) {
  FakePmu pmu;
  const OpenedPerf perf = OpenPerf({}, SettingOf(pmu, "haswell"));
  ASSERT_TRUE(perf.source);
  EXPECT_EQ(perf.source->events(), (std::vector<std::string>{"cycles", "instructions"}));
  EXPECT_THAT(perf.availability.reason, HasSubstr("no Top-Down table for Vendor"));
  EXPECT_THAT(perf.availability.remedy, HasSubstr("--metrics"));
}

TEST(PerfPlan, SlotsLeadTheMetricsIfTheKernelListsThem) {
  FakePmu pmu;
  pmu.counters = 8;
  pmu.needs_slots = true;
  pmu.fixed = {0x400, 0, 1};  // slots, and the kernel's cycles and instructions
  for (std::uint64_t metric = 0x8000; metric <= 0x8700; metric += 0x100) pmu.fixed.insert(metric);
  const MetricsSysfs sysfs;
  PerfSetting setting = SettingOf(pmu, "sapphire_rapids");
  setting.sysfs = sysfs.path();
  const OpenedPerf perf = OpenPerf({"topdown-l2"}, setting);
  ASSERT_TRUE(perf.source) << perf.availability.reason;
  EXPECT_THAT(perf.availability.reason, HasSubstr("(PERF_METRICS)"));
  EXPECT_EQ(perf.source->passes(), 1u);
  EXPECT_EQ(perf.source->events().front(), "TOPDOWN.SLOTS");
  EXPECT_TRUE(perf.notes.empty());
  setting.sysfs = kNoSysfs;
  const OpenedPerf guest = OpenPerf({"topdown-l2"}, setting);
  ASSERT_TRUE(guest.source);
  EXPECT_THAT(guest.availability.reason, HasSubstr("(general counters)"));
  EXPECT_TRUE(NamesOf(*guest.source).contains("IDQ_BUBBLES.CORE"));
}

TEST(Requests, SplitAtCommasOutsideOfTerms) {
  EXPECT_EQ(SplitMetrics("flops,cpu/event=0x3c,umask=1/,r1c2"),
            (std::vector<std::string>{"flops", "cpu/event=0x3c,umask=1/", "r1c2"}));
  EXPECT_TRUE(SplitMetrics("").empty());
}

TEST(Requests, AnEventIsAVendorsNameOrACode) {
  const RequestContext context = {.table = &FindTopdownTable("skylake_x"), .sysfs = kNoSysfs};
  const auto requests = RequestsFor({"UOPS_ISSUED.ANY", "r1c2"}, context);
  std::map<std::string, std::uint64_t> codes;
  for (const PerfRequest& request : requests.events) {
    codes[request.event.name] = request.event.config;
  }
  EXPECT_EQ(codes.at("UOPS_ISSUED.ANY"), 0x10Eu);
  EXPECT_EQ(codes.at("r1c2"), 0x1C2u);
  EXPECT_TRUE(codes.contains("cycles"));
  EXPECT_TRUE(codes.contains("instructions"));
  try {
    RequestsFor({"NO_SUCH.EVENT"}, context);
    FAIL();
  } catch (const TopdownError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--metrics NO_SUCH.EVENT"));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

// Lion Cove's DSB at level 3. Kernels without the field drop its bit.
TEST(Requests, AnEqualComparisonNeedsItsFieldInTheKernel) {
  const TestFolder sysfs("sysfs");
  const RequestContext context = {.table = &FindTopdownTable("lunar_lake_p"),
                                  .sysfs = sysfs.path()};
  const std::size_t without = RequestsFor({"topdown-l3"}, context).events.size();
  EXPECT_THAT(RequestsFor({"topdown-l3"}, context).notes,
              testing::Contains(HasSubstr("IDQ.DSB_UOPS:c8:inv:eq is not counted")));
  sysfs.Write("cpu/format/eq", "config:36\n");
  EXPECT_EQ(RequestsFor({"topdown-l3"}, context).events.size(), without + 3);
}

TEST(Requests, DeeperLevelsNeedMoreEvents) {
  for (const TopdownTable& table : TopdownTables()) {
    for (std::size_t path = 0; path < table.paths.size(); ++path) {
      const auto first = EventsOfPath(table, path, 1, false);
      const auto second = EventsOfPath(table, path, 2, false);
      EXPECT_FALSE(first.empty()) << table.cpu;
      EXPECT_GE(second.size(), first.size()) << table.cpu;
    }
  }
}

// ---- The source.

PerfPlan TwoPasses() {
  const ResolvedEvent a{"a", PERF_TYPE_RAW, 1, "raw"};
  const ResolvedEvent b{"b", PERF_TYPE_RAW, 2, "raw"};
  const ResolvedEvent c{"c", PERF_TYPE_RAW, 3, "raw"};
  return {.passes = {{a, b}, {a, c}}, .absent = {}, .counters = 2};
}

TEST(PerfSourceTest, GivesTheSumAndEachThread) {
  FakePmu pmu;
  pmu.rate = {{1, 10}, {2, 20}};
  pmu.idle = {102};
  pmu.refused_threads = {{103, ESRCH}};  // it has ended
  PerfSource source(pmu.Calls(), TwoPasses(), [] { return std::vector<pid_t>{0, 101, 102, 103}; });
  EXPECT_EQ(source.events(), (std::vector<std::string>{"a", "b", "a#2", "c"}));
  source.Begin(0);
  EXPECT_EQ(pmu.open_events(), 6u);
  std::vector<std::uint64_t> before(source.slots());
  std::vector<std::uint64_t> after(source.slots());
  source.Read(before.data());
  pmu.Work(100);
  source.Read(after.data());
  const auto counts = source.Fold(before, after);
  // three other readings lie between two readings of a thread
  EXPECT_EQ(counts[0].value, 2 * 103 * 10.0);
  EXPECT_EQ(counts[1].value, 2 * 103 * 20.0);
  EXPECT_EQ(counts[1].running_fraction, 1);
  EXPECT_FALSE(counts[2].value);
  EXPECT_FALSE(counts[3].value);
  const auto threads = source.FoldThreads(before, after);
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0].counts[0].value, 1030);
  EXPECT_EQ(threads[1].counts[1].value, 2060);
  EXPECT_FALSE(threads[2].counts[0].value);
  source.End();
  EXPECT_EQ(pmu.open_events(), 0u);
}

TEST(PerfSourceTest, ARefusedWorkerMakesThePassAbsentWithTheReason) {
  FakePmu pmu;
  pmu.refused_threads = {{101, EMFILE}};
  PerfSource source(pmu.Calls(), TwoPasses(), [] { return std::vector<pid_t>{0, 101}; });
  source.Begin(1);
  EXPECT_EQ(pmu.open_events(), 0u);
  std::vector<std::uint64_t> raw(source.slots());
  source.Read(raw.data());
  for (const EventCount& count : source.Fold(raw, raw)) {
    EXPECT_FALSE(count.value);
    EXPECT_THAT(count.reason, HasSubstr("a could not be opened on every thread"));
    EXPECT_THAT(count.reason, HasSubstr("ulimit -n"));
  }
}

TEST(PerfSourceTest, UnlistedThreadsMakeThePassAbsentWithTheReason) {
  FakePmu pmu;
  PerfSource source(pmu.Calls(), TwoPasses(), []() -> std::vector<pid_t> {
    throw std::filesystem::filesystem_error("tasks",
                                            std::make_error_code(std::errc::too_many_files_open));
  });
  source.Begin(0);
  EXPECT_EQ(pmu.open_events(), 0u);
  std::vector<std::uint64_t> raw(source.slots());
  source.Read(raw.data());
  for (const EventCount& count : source.Fold(raw, raw)) {
    EXPECT_FALSE(count.value);
    EXPECT_THAT(count.reason, HasSubstr("cannot be listed"));
    EXPECT_THAT(count.reason, HasSubstr("EMFILE"));
  }
}

TEST(PerfSourceTest, AFailedReadingIsAbsentForAnyEarlierContent) {
  FakePmu pmu;
  bool fails = false;
  PerfSyscalls calls = pmu.Calls();
  calls.read = [&fails, read = calls.read](int fd, void* buffer, std::size_t bytes) {
    return fails ? static_cast<ssize_t>(-EIO) : read(fd, buffer, bytes);
  };
  PerfSource source(calls, TwoPasses(), [] { return std::vector<pid_t>{0}; });
  source.Begin(0);
  std::vector<std::uint64_t> before(source.slots()), after(source.slots());
  source.Read(before.data());
  source.Read(after.data());
  EXPECT_TRUE(source.Fold(before, after)[0].value);
  fails = true;
  source.Read(after.data());
  EXPECT_FALSE(source.Fold(before, after)[0].value);
}

TEST(PerfSourceTest, ASequenceIsCountedInPassesWithoutTheReadings) {
  FakePmu pmu;
  pmu.rate = {{1, 10}, {2, 20}, {3, 30}};
  PerfSource source(pmu.Calls(), TwoPasses(), [] { return std::vector<pid_t>{0, 101}; });
  auto work = [&] { pmu.Work(1000); };
  auto more = [&] { pmu.Work(3000); };
  const std::vector<TimedStage> stages = {{"work", Action::Of(work)}, {"more", Action::Of(more)}};
  MeasureOptions options;
  options.iterations = 4;
  options.sources = {&source};
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(samples.events, (std::vector<std::string>{"a", "b", "a#2", "c"}));
  EXPECT_EQ(samples.event_passes, (std::vector<std::size_t>{0, 0, 1, 1}));
  EXPECT_GT(samples.empty_counts[0], 0);
  const Record first = RecordOf(samples.stages[0], samples.events, {}, "in-network");
  EXPECT_EQ(first.events.at("a"), 2 * 1000 * 10.0);
  EXPECT_EQ(first.events.at("b"), 2 * 1000 * 20.0);
  EXPECT_EQ(first.events.at("a#2"), 2 * 1000 * 10.0);
  EXPECT_EQ(first.events.at("c"), 2 * 1000 * 30.0);
  EXPECT_EQ(first.running_fraction, 1);
  const Record step = RecordOf(samples.step, samples.events, {}, "in-network");
  EXPECT_EQ(step.events.at("c"), 2 * 4000 * 30.0);
  ASSERT_EQ(first.thread_events.size(), 2u);
  EXPECT_NEAR(first.thread_events.at(1).at("c").value(), 1000 * 30.0, 100);
}

TEST(PerfSourceTest, AMultiplexedEventDegradesTheRecord) {
  StageSamples samples;
  samples.name = "s";
  samples.seconds = {1, 1};
  samples.counts = {{.value = 10.0, .running_fraction = 0.6},
                    {.value = 10.0, .running_fraction = 0.6}};
  const Record record = RecordOf(samples, {"a"}, {}, "in-network");
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_THAT(record.reason, HasSubstr("a was on a counter for 60 % of the time"));
  EXPECT_EQ(record.events.at("a"), 10);  // not scaled
  // On request it is scaled once, and still marked. Cycles on other core types are not scaled.
  samples.counts.insert(samples.counts.begin() + 1, {.value = 8.0, .running_fraction = 0.25});
  samples.counts.push_back({.value = 8.0, .running_fraction = 0.25});
  const std::vector<std::string> events = {"a", "cycles@cpu_atom"};
  ScaleCounts(samples);
  ScaleCounts(samples);
  const Record scaled = RecordOf(samples, events, {}, "in-network");
  EXPECT_DOUBLE_EQ(scaled.events.at("a").value(), 10 / 0.6);
  EXPECT_EQ(scaled.events.at("cycles@cpu_atom"), 8);
  EXPECT_EQ(scaled.status, Status::kDegraded);
  samples.counts = {{.value = 10.0, .running_fraction = 0.6}};
  EXPECT_THAT(RecordOf(samples, {"a"}, {}, "").reason, HasSubstr("of the time and is scaled"));
}

TEST(PerfSourceTest, ARegionTooShortForTheMarksIsMarked) {
  StageSamples samples;
  samples.name = "s";
  samples.empty_seconds = 20e-9;
  samples.seconds = {100e-9};
  EXPECT_THAT(RecordOf(samples, {}, {}, "").reason, HasSubstr("too short for the marks"));
  samples.seconds = {1e-6};
  EXPECT_EQ(RecordOf(samples, {}, {}, "").status, Status::kOk);
}

// ---- CPUs with several types of cores.

// CPUs 0 to 3 are of cpu_core (type 4, as the kernel registers it), 4 to 7 of cpu_atom (type 10).
class HybridSysfs {
 public:
  HybridSysfs() {
    Add("cpu_core", 4, "0-3");
    Add("cpu_atom", 10, "4-7");
    folder_.Write("power/type", "9\n");
    folder_.Write("power/cpumask", "0\n");
    // The two types use the same name for different events.
    folder_.Write("cpu_atom/events/topdown-retiring", "event=0xc2,umask=0x0\n");
    folder_.Write("cpu_core/events/topdown-retiring", "event=0x00,umask=0x80\n");
  }
  std::string path() const { return folder_.path(); }

 private:
  void Add(const std::string& name, int type, const std::string& cpus) {
    folder_.Write(name + "/type", std::to_string(type) + "\n");
    folder_.Write(name + "/cpus", cpus + "\n");
  }

  TestFolder folder_;
};

TEST(HybridTest, ThePmusOfCoreTypesAreThoseWithCpus) {
  const HybridSysfs sysfs;
  const auto types = CoreTypes(sysfs.path());
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0].name, "cpu_atom");
  EXPECT_EQ(types[0].type, 10u);
  EXPECT_EQ(CoreTypeOf(2, types)->name, "cpu_core");
  EXPECT_EQ(CoreTypeOf(7, types)->name, "cpu_atom");
  EXPECT_EQ(CoreTypeOf(8, types), nullptr);
  EXPECT_EQ(ResolveEvent("topdown-retiring", std::nullopt, sysfs.path(), "cpu_core")->config,
            0x8000u);
  EXPECT_EQ(ResolveEvent("topdown-retiring", std::nullopt, sysfs.path(), "cpu_atom")->config,
            0xC2u);
  std::filesystem::remove_all(sysfs.path() + "/cpu_atom");
  EXPECT_TRUE(CoreTypes(sysfs.path()).empty());  // all cores alike
  EXPECT_TRUE(CoreTypes(kNoSysfs).empty());
}

// The record of three regions of one stage; `where` gives the core type of the thread in each.
Record RecordOnTypes(FakePmu& pmu, CounterSource& source, const std::vector<std::uint32_t>& where) {
  std::size_t run = 0;
  auto work = [&] {
    pmu.on_type = where[run++ % where.size()];
    pmu.Work(10'000);
    pmu.on_type = where[0];
  };
  const std::vector<TimedStage> stages = {{"work", Action::Of(work)}};
  MeasureOptions options;
  options.iterations = 4;
  options.most_warmup_iterations = 1;
  options.sources = {&source};
  pmu.on_type = where[0];
  const SequenceSamples samples = MeasureSequence(stages, options);
  StageSamples stage = samples.stages[0];
  stage.selection = {};     // all of them, however busy this machine is
  stage.empty_seconds = 0;  // regions without time would be too short for the marks
  return RecordOf(stage, samples.events, {}, "in-network");
}

TEST(HybridTest, OnlyAStageThatLeavesItsCoreTypeIsDegraded) {
  const HybridSysfs sysfs;
  for (const auto& [cpu, on_cpu, own, other, other_name] :
       {std::tuple{"sapphire_rapids", 1, 4u, 10u, "cpu_atom"},
        std::tuple{"gracemont", 5, 10u, 4u, "cpu_core"}}) {
    FakePmu pmu;
    pmu.counters = 40;
    pmu.core_types = {4, 10};
    pmu.on_type = own;
    PerfSetting setting = SettingOf(pmu, cpu);
    setting.sysfs = sysfs.path();
    setting.on_cpu = on_cpu;
    // In a trial, only the readings are work (see FakePmu).
    const OpenedPerf perf = OpenPerf({"topdown-l1"}, setting);
    ASSERT_TRUE(perf.source) << perf.availability.reason;
    EXPECT_THAT(perf.notes, testing::Contains(HasSubstr("several types of cores")));
    const std::string elsewhere = std::string("cycles@") + other_name;
    EXPECT_TRUE(NamesOf(*perf.source).contains(elsewhere));
    const Record stays = RecordOnTypes(pmu, *perf.source, {own});
    EXPECT_EQ(stays.status, Status::kOk) << stays.reason;
    EXPECT_FALSE(stays.events.at(elsewhere));
    EXPECT_EQ(stays.running_fraction, 1);
    const Record leaves = RecordOnTypes(pmu, *perf.source, {own, other});
    EXPECT_EQ(leaves.status, Status::kDegraded);
    EXPECT_THAT(leaves.reason, HasSubstr(std::string("threads were on ") + other_name + " cores"));
    EXPECT_GT(leaves.events.at(elsewhere).value_or(0), 0);
    EXPECT_LT(leaves.running_fraction.value_or(1), 1);
  }
}

TEST(HybridTest, EventsUseThePmuOfTheRequestedCoreType) {
  const HybridSysfs sysfs;
  FakePmu pmu;
  pmu.core_types = {4, 10};
  pmu.on_type = 4;
  PerfSetting setting = SettingOf(pmu, "gracemont");
  setting.sysfs = sysfs.path();
  setting.on_cpu = 4;  // an efficiency core, whose PMU does not count on other cores
  const OpenedPerf perf = OpenPerf({"topdown-l1"}, setting);
  EXPECT_FALSE(perf.source);
  pmu.on_type = 10;
  EXPECT_TRUE(OpenPerf({"topdown-l1"}, setting).source);
  // A generic event of the kernel has the core type in the upper half of its code.
  const auto types = CoreTypes(sysfs.path());
  EXPECT_EQ(CyclesElsewhere(types[0]).config, std::uint64_t{10} << 32);
  EXPECT_EQ(OnCoreType({"r1c2", PERF_TYPE_RAW, 0x1C2, "raw"}, types[0]).type, 10u);
  EXPECT_EQ(OnCoreType({"page-faults", PERF_TYPE_SOFTWARE, 2, "kernel"}, types[0]).type,
            std::uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ(ElsewhereOf("cycles@cpu_atom#2"), "cpu_atom");
  EXPECT_FALSE(ElsewhereOf("cycles"));
}

TEST(PerfSourceTest, TheCallingThreadIsFirst) {
  const auto threads = ThreadsOfProcess();
  ASSERT_FALSE(threads.empty());
  EXPECT_EQ(threads[0], 0);
  EXPECT_EQ(std::set<pid_t>(threads.begin(), threads.end()).size(), threads.size());
}

}  // namespace
}  // namespace topdnn
