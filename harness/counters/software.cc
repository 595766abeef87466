// Software events that the kernel counts for the process: through perf_event if that is allowed,
// and through getrusage(2), which is always allowed.

#include <linux/perf_event.h>
#include <sys/resource.h>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_source.h"
#include "harness/counters/source.h"
#include "harness/statistics/counting.h"

namespace topdnn {

namespace {

// Switches and migrations happen in the kernel, so counts of only user mode would be zero.
constexpr PerfModes kModes = PerfModes::kUserAndKernel;

const std::vector<ResolvedEvent>& SoftwareEvents() {
  static const std::vector<ResolvedEvent> events = {
      {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "kernel"},
      {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "kernel"},
      {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "kernel"}};
  return events;
}

Availability ProbeSoftware() {
  PerfGroup group(PerfSyscalls::Real());
  const int error = group.Open(SoftwareEvents(), PerfScope::Thread(0, kModes)).error;
  if (error != 0) return ExplainRefusal(error, PerfSurroundings::Here(), "software events");
  return {.works = true, .reason = "perf_event software events of every thread"};
}

const SourceRegistration kSoftware({.name = "software",
                                    .what = "the kernel's software events",
                                    .choice = "perf",
                                    .probe = ProbeSoftware,
                                    .open = []() -> std::unique_ptr<CounterSource> {
                                      PerfPlan plan = {.passes = {SoftwareEvents()}};
                                      PerfKind kind = {.what = "software events",
                                                       .modes = kModes,
                                                       .by_thread = false};
                                      return std::make_unique<PerfSource>(
                                          PerfSyscalls::Real(), std::move(plan), ThreadsOfProcess,
                                          std::move(kind));
                                    }});

// A separate source with getrusage's terms, since it counts differently: switches are split by
// cause, faults by cost, and migrations are missing.
class RusageSource final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return events_.size(); }
  void Read(std::uint64_t* raw) noexcept override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    raw[0] = static_cast<std::uint64_t>(usage.ru_nvcsw);
    raw[1] = static_cast<std::uint64_t>(usage.ru_nivcsw);
    raw[2] = static_cast<std::uint64_t>(usage.ru_minflt);
    raw[3] = static_cast<std::uint64_t>(usage.ru_majflt);
  }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldCounts(before, after);
  }

 private:
  std::vector<std::string> events_ = {"voluntary-context-switches", "involuntary-context-switches",
                                      "minor-faults", "major-faults"};
};

const SourceRegistration kRusage({.name = "rusage",
                                  .what = "the kernel's accounting of the process (getrusage)",
                                  .choice = "perf",
                                  .probe = []() -> Availability {
                                    return {.works = true,
                                            .reason =
                                                "context switches and page faults of the "
                                                "whole process"};
                                  },
                                  .open = []() -> std::unique_ptr<CounterSource> {
                                    return std::make_unique<RusageSource>();
                                  }});

}  // namespace

}  // namespace topdnn
