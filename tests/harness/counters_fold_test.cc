#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/counters/open_error.h"
#include "harness/counters/source.h"
#include "harness/machine/clock.h"
#include "harness/statistics/counting.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Raw = std::vector<std::uint64_t>;

TEST(RefusalTest, GivesTheCauseAndTheRemedy) {
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

TEST(RefusalTest, EveryCauseHasItsReasonAndRemedy) {
  struct Case {
    int error;
    PerfSurroundings here;
    std::string reason, remedy;
    PerfTarget target = PerfTarget::kThreads;
  };
#if defined(__x86_64__)
  const char* const kElsewhere = "--counters exact";
#else
  const char* const kElsewhere = "--counters replay:FILE";  // no exact counter
#endif
  const PerfSurroundings plain{.paranoid = 3};
  for (const Case& c : std::vector<Case>{
           {EACCES, plain, "perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=1"},
           {EPERM, plain, "perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=1"},
           {EACCES, {.paranoid = 4, .container = true}, "lacks CAP_PERFMON", "--cap-add PERFMON"},
           {EPERM, {.paranoid = 2, .container = true}, "lacks CAP_PERFMON", "--cap-add PERFMON"},
           {EACCES,
            {.paranoid = 2, .container = true},
            "lacks CAP_PERFMON",
            "perf_event_paranoid=0",
            PerfTarget::kSockets},
           {EPERM, {.seccomp_filtered = true, .container = true}, "seccomp", "seccomp=unconfined"},
           {ENOENT,
            {.virtual_machine = true},
            "hypervisor gives this virtual machine none",
            "pmu=on"},
           {ENOSYS, plain, "does not exist", kElsewhere},
           {ENOENT, plain, "no PMU", kElsewhere},
           {EMFILE, plain, "EMFILE", "ulimit -n"},
           {ENFILE, plain, "ENFILE", "fs.file-max"},
           {ENOMEM, plain, "ENOMEM", "end other programs"},
           {ENOSPC, plain, "ENOSPC", "fewer --metrics"},
           {E2BIG, plain, "E2BIG", "newer kernel"},
           {ELOOP, plain, "ELOOP", kElsewhere},
           {ECHILD, plain, "ECHILD", "--metrics instructions"},
           {EINVAL, plain, "EINVAL", "--metrics"},
           {EBUSY, plain, "EBUSY", "end the other profiler"},
           {0, {.watchdog = true}, "NMI watchdog", "sysctl kernel.nmi_watchdog=0"},
           {0, plain, "another profiler holds", "end the other profiler"}}) {
    const Availability refusal = ExplainRefusal(c.error, c.here, "hardware events", c.target);
    EXPECT_FALSE(refusal.works);
    EXPECT_NE(refusal.reason.find(c.reason), std::string::npos) << refusal.reason;
    EXPECT_EQ(refusal.reason.find('\n'), std::string::npos);
    EXPECT_NE(refusal.remedy.find(c.remedy), std::string::npos) << refusal.remedy;
    EXPECT_FALSE(refusal.remedy.empty());
    EXPECT_EQ(refusal.reason.find('{'), std::string::npos) << refusal.reason;
  }
}

// Sets the limit of open files so low that nothing can be opened, for the object's lifetime.
class NoFilesLeft {
 public:
  NoFilesLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFilesLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoFilesLeft(const NoFilesLeft&) = delete;
  NoFilesLeft& operator=(const NoFilesLeft&) = delete;

 private:
  rlimit before_{};
};

TEST(RefusalTest, ASourceWithoutFilesGivesTheReasonWithEachCount) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "failed once under AddressSanitizer; the cause is not known";
#endif
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name != "software" && offer.name != "hardware") continue;
    // Opens the source without its probe, because the test is about a refusal.
    const auto source = offer.open();
    {
      const NoFilesLeft none;
      source->Begin(0);
    }
    const Raw raw(source->slots());
    const auto counts = source->Fold(raw, raw);
    ASSERT_EQ(counts.size(), source->events().size());
    for (const EventCount& count : counts) {
      EXPECT_FALSE(count.value);
      EXPECT_NE(count.reason.find("EMFILE"), std::string::npos) << count.reason;
      EXPECT_NE(count.reason.find("ulimit -n"), std::string::npos) << count.reason;
    }
  }
}

TEST(SourceTest, EverySourceOpensOrGivesTheReason) {
  std::set<std::string> names;
  for (const SourceOffer& offer : CounterSources()) {
    names.insert(offer.name);
    const Availability availability = offer.probe();
    EXPECT_FALSE(availability.reason.empty()) << offer.name;
    if (!availability.works) continue;
    const auto source = offer.open();
    ASSERT_TRUE(source) << offer.name;
    source->Begin(0);
    Raw before(source->slots());
    Raw after(source->slots());
    source->Read(before.data());
    std::vector<char> pages(1 << 22, 'x');  // causes page faults and takes time
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

TEST(SourceTest, RusageCountsPageFaults) {
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
  // One interval contains the other, twice. Delays of the readings cannot change this order.
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

TEST(ClockTest, TheTimeStampCounterIsTrustedIfTheKernelOffersIt) {
  const TestFolder sysfs;
  EXPECT_EQ(TscDistrust(sysfs.path()), "");  // no information
  const std::string folder = "devices/system/clocksource/clocksource0/";
  sysfs.Write(folder + "available_clocksource", "kvm-clock tsc acpi_pm \n");
  sysfs.Write(folder + "current_clocksource", "kvm-clock\n");
  EXPECT_EQ(TscDistrust(sysfs.path()), "");  // in use or not
  sysfs.Write(folder + "available_clocksource", "hpet acpi_pm \n");
  sysfs.Write(folder + "current_clocksource", "hpet\n");
  const std::string reason = TscDistrust(sysfs.path());
  EXPECT_NE(reason.find("the kernel uses hpet"), std::string::npos) << reason;
  // A longer name that contains "tsc" is another clock ("hyperv_clocksource_tsc_page").
  sysfs.Write(folder + "available_clocksource", "hyperv_clocksource_tsc_page acpi_pm\n");
  EXPECT_NE(TscDistrust(sysfs.path()), "");
}

TEST(ClockTest, TheTimeStampCounterHasOneCalibration) {
  const std::optional<TickClock> tsc = TscClock();
  if (!tsc) GTEST_SKIP() << "no time stamp counter that can be trusted";
  EXPECT_EQ(tsc->seconds_per_tick, 1 / TscFrequency().hz);
}

}  // namespace
}  // namespace topdnn
