// Energy from scripted files of powercap, a simulated PMU and an external meter's CSV.

#include "harness/counters/energy/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/counters/energy/meter.h"
#include "harness/report/tables/tables.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// Two packages with cores and memory, whose counts the test sets.
class EnergyTest : public testing::Test {
 protected:
  EnergyTest() {
    std::filesystem::create_directories(folder_.path() / "pmus");
    std::filesystem::create_directories(folder_.path() / "powercap");
  }

  void AddZone(const std::string& zone, const std::string& name, std::uint64_t microjoules) {
    std::filesystem::create_directories(folder_.path() / "powercap" / zone);
    Write("powercap/" + zone + "/name", name);
    Write("powercap/" + zone + "/max_energy_range_uj", "262143328850");
    Set(zone, microjoules);
  }
  void Set(const std::string& zone, std::uint64_t microjoules) {
    Write("powercap/" + zone + "/energy_uj", std::to_string(microjoules));
  }
  void Write(const std::string& file, const std::string& text) { folder_.Write(file, text + "\n"); }

  EnergySetting Setting() {
    EnergySetting setting;
    setting.calls = {};
    setting.calls.open = [this](const perf_event_attr& attr, pid_t thread, int cpu, int) {
      EXPECT_EQ(thread, -1);
      if (refuse_ != 0) return -refuse_;
      return static_cast<int>(1000 + 10 * attr.config + static_cast<unsigned>(cpu));
    };
    setting.calls.read = [this](int fd, void* buffer, std::size_t bytes) -> ssize_t {
      if (bytes < sizeof(std::uint64_t)) return -EINVAL;
      std::memcpy(buffer, &counts_[fd], sizeof(std::uint64_t));
      return sizeof(std::uint64_t);
    };
    setting.calls.close = [](int) {};
    setting.sysfs = (folder_.path() / "pmus").string();
    setting.powercap = (folder_.path() / "powercap").string();
    setting.idle = [this] { Idle(); };
    setting.clock = [this] { return time_; };
    return setting;
  }
  virtual void Idle() { time_ += 250'000'000; }

  // Reads, lets `change` happen in `seconds`, reads, and folds.
  template <class Change>
  std::vector<EventCount> Count(CounterSource& source, double seconds, Change change) {
    std::vector<std::uint64_t> before(source.slots()), after(source.slots());
    source.Read(before.data());
    time_ += static_cast<std::uint64_t>(seconds * 1e9);
    change();
    source.Read(after.data());
    return source.Fold(before, after);
  }

  TestFolder folder_;
  std::uint64_t time_ = 1'000'000'000;
  int refuse_ = EACCES;
  std::map<int, std::uint64_t> counts_;
};

class IdleEnergyTest : public EnergyTest {
 protected:
  void Idle() override {
    EnergyTest::Idle();
    Set("intel-rapl:0", 1'000'000 + 5'000'000);  // 5 J in 0.25 s: 20 W
  }
};

TEST_F(IdleEnergyTest, PackagesAreAddedAndIdleIsApart) {
  AddZone("intel-rapl:0", "package-0", 1'000'000);
  AddZone("intel-rapl:0:0", "core", 0);
  AddZone("intel-rapl:0:1", "dram", 0);
  AddZone("intel-rapl:1", "package-1", 7'000'000);
  AddZone("intel-rapl:2", "psys", 0);
  AddZone("intel-rapl-mmio:0", "package-0", 0);  // the same package again
  OpenedEnergy opened = OpenEnergy(Setting());
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(opened.availability.reason, HasSubstr("powercap"));
  const auto counts = Count(*opened.source, 2, [this] {
    Set("intel-rapl:0", 6'000'000 + 100'000'000);
    Set("intel-rapl:1", 7'000'000 + 50'000'000);
    Set("intel-rapl:0:0", 80'000'000);
    Set("intel-rapl:0:1", 12'500'000);
  });
  ASSERT_EQ(counts.size(), kEnergyEvents.size());
  EXPECT_DOUBLE_EQ(counts[0].value.value(), 150);
  EXPECT_DOUBLE_EQ(counts[1].value.value(), 80);
  EXPECT_DOUBLE_EQ(counts[2].value.value(), 12.5);
  EXPECT_DOUBLE_EQ(counts[3].value.value(), 40);  // 20 W for 2 s
}

TEST_F(EnergyTest, ACounterThatRestartsIsContinued) {
  AddZone("intel-rapl:0", "package-0", 262143328850 - 1'000'000);
  const OpenedEnergy opened = OpenEnergy(Setting());
  ASSERT_NE(opened.source, nullptr);
  const auto counts = Count(*opened.source, 1, [this] { Set("intel-rapl:0", 1'999'999); });
  EXPECT_DOUBLE_EQ(counts[0].value.value(), 3);
  EXPECT_FALSE(counts[1].value);  // no such zone
  EXPECT_FALSE(counts[2].value);
}

TEST_F(EnergyTest, AShortRegionHasNoEnergy) {
  AddZone("intel-rapl:0", "package-0", 0);
  const OpenedEnergy opened = OpenEnergy(Setting());
  ASSERT_NE(opened.source, nullptr);
  const auto counts = Count(*opened.source, 0.009, [this] { Set("intel-rapl:0", 1'000'000); });
  EXPECT_FALSE(counts[0].value);
  EXPECT_THAT(counts[0].reason, HasSubstr("10 ms"));
  // A file that cannot be read makes the value absent, and not zero.
  const auto unread =
      Count(*opened.source, 1, [this] { Write("powercap/intel-rapl:0/energy_uj", "?"); });
  EXPECT_FALSE(unread[0].value);
}

// The sum of one package of two would be taken for the machine's.
TEST_F(EnergyTest, AnEventThatOnePackageLacksIsAbsent) {
  AddZone("intel-rapl:0", "package-0", 0);
  AddZone("intel-rapl:1", "package-1", 0);
  AddZone("intel-rapl:0:0", "dram", 0);
  AddZone("intel-rapl:1:0", "dram", 0);
  std::filesystem::remove(folder_.path() / "powercap/intel-rapl:1:0/energy_uj");
  const OpenedEnergy opened = OpenEnergy(Setting());
  ASSERT_NE(opened.source, nullptr);
  const auto counts = Count(*opened.source, 1, [this] { Set("intel-rapl:0:0", 9'000'000); });
  EXPECT_TRUE(counts[0].value);
  EXPECT_FALSE(counts[2].value);
}

TEST_F(EnergyTest, PerfIsReadOnOneCpuOfEachPackage) {
  refuse_ = 0;
  for (const char* part : {"events", "format"}) {
    std::filesystem::create_directories(folder_.path() / "pmus/power" / part);
  }
  Write("pmus/power/type", "21");
  Write("pmus/power/cpumask", "0,8");
  Write("pmus/power/format/event", "config:0-7");
  Write("pmus/power/events/energy-pkg", "event=0x02");
  Write("pmus/power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
  Write("pmus/power/events/energy-ram", "event=0x03");
  Write("pmus/power/events/energy-ram.scale", "2.3283064365386962890625e-10");
  OpenedEnergy opened = OpenEnergy(Setting());
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(opened.availability.reason, HasSubstr("4 counters"));
  EXPECT_THAT(opened.availability.reason, HasSubstr("perf"));
  const auto counts = Count(*opened.source, 1, [this] {
    counts_[1020] += std::uint64_t{3} << 32;  // 2^-32 J each
    counts_[1028] += std::uint64_t{1} << 32;
    counts_[1030] += std::uint64_t{1} << 31;
  });
  EXPECT_DOUBLE_EQ(counts[0].value.value(), 4);
  EXPECT_DOUBLE_EQ(counts[2].value.value(), 0.5);
}

TEST_F(EnergyTest, WithoutCountersTheReasonSaysWhatHelps) {
  const Availability none = OpenEnergy(Setting()).availability;
  EXPECT_FALSE(none.works);
  EXPECT_THAT(none.reason, HasSubstr("no energy counters"));
  EXPECT_THAT(none.remedy, HasSubstr("--energy CSV"));
}

TEST(MeterTest, ReadsTimesAndWatts) {
  const auto readings =
      ParseMeterCsv("time,watts\n# a meter\n100.0,50\n101, 70.5\r\n102;60\n", "f");
  ASSERT_EQ(readings.size(), 3u);
  EXPECT_EQ(readings[1].watts, 70.5);
  for (const char* text : {"", "time,watts\n", "1,2\n1,3\n", "2,1\n1,1\n", "1,-5\n", "1,x\n",
                           "1\n2\n", "1,nan\n", "1e300,5\n", "1,1e300\n"}) {
    EXPECT_THROW(ParseMeterCsv(text, "f"), MeterError) << text;
  }
}

TEST(MeterTest, TheMeanIsOfTheTimeAsked) {
  const std::vector<MeterReading> readings = {{0, 10}, {1, 20}, {2, 40}, {3, 40}};
  EXPECT_DOUBLE_EQ(MeanWatts(readings, 0, 3).value(), (15 + 30 + 40) / 3.0);
  EXPECT_DOUBLE_EQ(MeanWatts(readings, 0.5, 2.5).value(), (0.5 * 17.5 + 30 + 0.5 * 40) / 2);
  EXPECT_FALSE(MeanWatts(readings, 1.2, 1.8));  // between two readings
  EXPECT_FALSE(MeanWatts(readings, 1, 4));      // not covered
  EXPECT_FALSE(MeanWatts(readings, -1, 2));
  EXPECT_FALSE(MeanWatts({}, 0, 1));
}

TEST(EnergyTableTest, ShowsStepImagesAndOnlyLongStages) {
  Report report;
  report.items_per_step = 32;
  Record stage;
  stage.name = "conv1";
  stage.seconds = Summary{.median = 0.1, .min = 0.1, .p90 = 0.1, .n = 1};
  stage.flops = 5e9;
  stage.events = {{"energy/package", 9.0}, {"energy/dram", 1.0}, {"energy/idle", 2.0}};
  Record brief;
  brief.name = "relu1";
  brief.events = {{"energy/package", std::nullopt}};
  report.stages = {stage, brief};
  report.step = stage;
  report.step.name = "step";
  const std::string text = EnergyTableText(report, Style{});
  EXPECT_THAT(text, HasSubstr("conv1"));
  EXPECT_THAT(text, HasSubstr("10.0"));   // J
  EXPECT_THAT(text, HasSubstr("100"));    // W
  EXPECT_THAT(text, HasSubstr("0.500"));  // Gops/W
  EXPECT_THAT(text, HasSubstr("3.20 images per joule"));
  EXPECT_THAT(text, testing::Not(HasSubstr("relu1")));
  EXPECT_THAT(text, testing::Not(HasSubstr("Snowflake")));
  report.subject = {{"network", nlohmann::ordered_json("googlenet")}};
  EXPECT_THAT(EnergyTableText(report, Style{}), HasSubstr("2017): 3.6 images per joule"));
  report.step.events[kMeterEvent] = 16.0;  // the whole machine
  EXPECT_THAT(EnergyTableText(report, Style{}), HasSubstr("2.00 images per joule"));
  report.step.events.clear();
  EXPECT_EQ(EnergyTableText(report, Style{}), "");
}

}  // namespace
}  // namespace topdnn
