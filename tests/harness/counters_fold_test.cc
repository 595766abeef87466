#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/counters/event_group.h"
#include "harness/counters/source.h"
#include "harness/disturbance.h"
#include "harness/machine/clock.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Raw = std::vector<std::uint64_t>;

TEST(RefusalTest, NamesTheCauseAndTheRemedy) {
  PerfSurroundings here{.paranoid = 3, .seccomp_filtered = false, .virtual_machine = true};
  const auto none = ExplainRefusal(ENOENT, here, "hardware events");
  EXPECT_FALSE(none.works);
  EXPECT_NE(none.reason.find("virtual machine"), std::string::npos);
  EXPECT_NE(none.remedy.find("pmu=on"), std::string::npos);

  const auto paranoid = ExplainRefusal(EACCES, here, "hardware events");
  EXPECT_NE(paranoid.reason.find("perf_event_paranoid is 3"), std::string::npos);
  EXPECT_EQ(paranoid.remedy, "sysctl kernel.perf_event_paranoid=1");

  here.seccomp_filtered = true;
  const auto filtered = ExplainRefusal(EPERM, here, "hardware events");
  EXPECT_NE(filtered.reason.find("seccomp"), std::string::npos);
  EXPECT_NE(filtered.remedy.find("PERFMON"), std::string::npos);

  here.virtual_machine = false;
  EXPECT_EQ(ExplainRefusal(ENOENT, here, "x").reason.find("hypervisor"), std::string::npos);
  EXPECT_FALSE(ExplainRefusal(EINVAL, here, "x").reason.empty());
}

TEST(RefusalTest, EveryCauseHasItsOwnReasonAndTheExactRemedy) {
  struct Case {
    int error;
    PerfSurroundings here;
    std::string reason, remedy;
  };
  const PerfSurroundings plain{.paranoid = 3};
  for (const Case& c : std::vector<Case>{
           {EACCES, plain, "perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=1"},
           {EPERM, plain, "perf_event_paranoid at 3", "sysctl kernel.perf_event_paranoid=1"},
           {EACCES, {.paranoid = 4, .container = true}, "lacks CAP_PERFMON", "--cap-add PERFMON"},
           {EPERM, {.paranoid = 2, .container = true}, "lacks CAP_PERFMON", "--cap-add PERFMON"},
           {EPERM, {.seccomp_filtered = true, .container = true}, "seccomp", "seccomp=unconfined"},
           {ENOENT,
            {.virtual_machine = true},
            "hypervisor shows this virtual machine none",
            "pmu=on"},
           {ENOSYS, plain, "does not exist here", ""},
           {EMFILE, plain, "EMFILE", "ulimit -n"},
           {ECHILD, plain, "ECHILD", "--metrics instructions"},
           {EINVAL, plain, "EINVAL", "--metrics"},
           {EBUSY, plain, "EBUSY", "end the other profiler"},
           {0, {.watchdog = true}, "NMI watchdog", "sysctl kernel.nmi_watchdog=0"},
           {0, plain, "another profiler holds", "end the other profiler"}}) {
    const Availability told = ExplainRefusal(c.error, c.here, "hardware events");
    EXPECT_FALSE(told.works);
    EXPECT_NE(told.reason.find(c.reason), std::string::npos) << told.reason;
    EXPECT_EQ(told.reason.find('\n'), std::string::npos);
    EXPECT_NE(told.remedy.find(c.remedy), std::string::npos) << told.remedy;
    EXPECT_EQ(told.remedy.empty(), c.remedy.empty()) << told.remedy;
  }
}

TEST(SourceTest, EverySourceOpensOrSaysWhyNot) {
  std::set<std::string> names;
  for (const SourceOffer& offer : CounterSources()) {
    names.insert(offer.name);
    const Availability availability = offer.probe();
    EXPECT_FALSE(availability.reason.empty()) << offer.name;
    if (!availability.works) continue;
    const auto source = offer.open();
    ASSERT_TRUE(source) << offer.name;
    EXPECT_EQ(source->name(), offer.name);
    Raw before(source->slots());
    Raw after(source->slots());
    source->Read(before.data());
    std::vector<char> pages(1 << 22, 'x');  // some faults and some time
    source->Read(after.data());
    EXPECT_EQ(pages.back(), 'x');
    const auto counts = source->Fold(before, after);
    ASSERT_EQ(counts.size(), source->events().size()) << offer.name;
    for (const EventCount& count : counts) {
      EXPECT_GE(count.value.value_or(0), 0) << offer.name;
    }
  }
  for (const char* name : {"clock", "tsc", "rusage", "software", "hardware"}) {
    EXPECT_TRUE(names.count(name)) << name;
  }
}

TEST(SourceTest, RusageSeesPageFaults) {
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name != "rusage") continue;
    const auto source = offer.open();
    Raw before(source->slots());
    Raw after(source->slots());
    source->Read(before.data());
    std::vector<char> pages(1 << 24, 'x');
    source->Read(after.data());
    EXPECT_EQ(pages.back(), 'x');
    EXPECT_GT(source->Fold(before, after)[2].value.value_or(0), 0);
  }
}

TEST(ClockTest, ClocksAgreeOnALongPause) {
  const TickClock raw = MonotonicRawClock();
  const std::optional<TickClock> tsc = TscClock();
  if (!tsc) GTEST_SKIP() << "no invariant time stamp counter";
  // One interval within the other, twice: whatever delays the readings cannot break the order.
  const auto seconds = [](const TickClock& clock, std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) * clock.seconds_per_tick;
  };
  const auto outer_start = raw.now();
  const auto start = tsc->now();
  const auto inner_start = raw.now();
  while (seconds(raw, inner_start, raw.now()) < 0.02) {
  }
  const auto inner_end = raw.now();
  const auto end = tsc->now();
  const auto outer_end = raw.now();
  EXPECT_GT(seconds(*tsc, start, end), 0.99 * seconds(raw, inner_start, inner_end));
  EXPECT_LT(seconds(*tsc, start, end), 1.01 * seconds(raw, outer_start, outer_end));
}

TEST(ClockTest, ABackwardClockHasNoTime) {
  const TickClock clock = MonotonicRawClock();
  EXPECT_EQ(clock.SecondsBetween(1'000'000'000, 3'000'000'000), 2.0);
  EXPECT_EQ(clock.SecondsBetween(5, 5), 0.0);
  EXPECT_FALSE(clock.SecondsBetween(5, 4));
}

TEST(ClockTest, TheTimeStampCounterIsTrustedWhereTheKernelOffersIt) {
  const TestFolder sysfs;
  EXPECT_EQ(TscDistrust(sysfs.path()), "");  // nothing said about it
  const std::string folder = "devices/system/clocksource/clocksource0/";
  sysfs.Write(folder + "available_clocksource", "kvm-clock tsc acpi_pm \n");
  sysfs.Write(folder + "current_clocksource", "kvm-clock\n");
  EXPECT_EQ(TscDistrust(sysfs.path()), "");  // in use or not
  sysfs.Write(folder + "available_clocksource", "hpet acpi_pm \n");
  sysfs.Write(folder + "current_clocksource", "hpet\n");
  const std::string reason = TscDistrust(sysfs.path());
  EXPECT_NE(reason.find("it uses hpet"), std::string::npos) << reason;
  // A name that only contains it is another clock ("hyperv_clocksource_tsc_page").
  sysfs.Write(folder + "available_clocksource", "hyperv_clocksource_tsc_page acpi_pm\n");
  EXPECT_NE(TscDistrust(sysfs.path()), "");
}

TEST(ClockTest, TheTimeStampCounterHasOneCalibration) {
  const std::optional<TickClock> tsc = TscClock();
  if (!tsc) GTEST_SKIP() << "no time stamp counter that can be trusted";
  EXPECT_EQ(tsc->seconds_per_tick, 1 / TscFrequency().hz);
}

TEST(DisturbanceTest, ParsesProcStat) {
  const auto time = ParseMachineTime("cpu  10 1 5 100 7 2 3 4 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->stolen, 4u);
  EXPECT_EQ(time->wanted, 10u + 1 + 5 + 2 + 3 + 4);
  EXPECT_FALSE(ParseMachineTime("cpu 1 2 3\n"));
  EXPECT_FALSE(ParseMachineTime(""));
}

Disturbance Quiet() {
  Disturbance seen;
  seen.seconds = 1;
  seen.iterations = 100;
  return seen;
}

TEST(DisturbanceTest, NothingWatchedIsOk) {
  EXPECT_EQ(JudgeDisturbance(Quiet()).status, Status::kOk);
  EXPECT_EQ(JudgeDisturbance({}).status, Status::kOk);
  EXPECT_TRUE(JudgeDisturbance(Quiet()).reason.empty());
}

TEST(DisturbanceTest, StealCountsAboveItsShareAndItsResolution) {
  Disturbance seen = Quiet();
  seen.machine_time = MachineTime{.stolen = 20, .wanted = 1000};
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);  // 2 %, not more
  seen.machine_time->stolen = 21;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.machine_time = MachineTime{.stolen = 4, .wanted = 20};  // 20 %, but 4 ticks
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
}

TEST(DisturbanceTest, SwitchesCountWhenManyIterationsLoseTime) {
  Disturbance seen = Quiet();
  seen.switched_iterations = 10;
  seen.involuntary_switches = 100;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);  // 10 %, not more
  seen.switched_iterations = 11;
  const Verdict verdict = JudgeDisturbance(seen);
  EXPECT_EQ(verdict.status, Status::kDegraded);
  EXPECT_NE(verdict.reason.find("11 of 100"), std::string::npos);
  seen.switched_excess = 0.009;  // the undisturbed iterations say that it did not matter
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.switched_excess = 0.02;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.seconds = 60;  // 100 slices of 3 ms are 0.5 % of a minute
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
}

TEST(DisturbanceTest, ClockMovesBothWays) {
  Disturbance seen = Quiet();
  seen.core_hertz_before = 3e9;
  for (const double factor : {0.975, 1.0, 1.025}) {
    seen.core_hertz_after = 3e9 * factor;
    EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk) << factor;
  }
  for (const double factor : {0.96, 1.04}) {
    seen.core_hertz_after = 3e9 * factor;
    EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded) << factor;
  }
}

TEST(DisturbanceTest, EveryReasonIsNamed) {
  Disturbance seen = Quiet();
  seen.quiet_ratio = 0.9;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.quiet_ratio = 0.8;
  seen.machine_time = MachineTime{.stolen = 100, .wanted = 1000};
  const Verdict verdict = JudgeDisturbance(seen);
  EXPECT_NE(verdict.reason.find("stole 10.0 %"), std::string::npos);
  EXPECT_NE(verdict.reason.find("80 %"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
