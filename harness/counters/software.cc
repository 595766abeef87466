// What the kernel counts of the process in software: through perf_event where that is allowed, and
// through getrusage(2), which always is.

#include <linux/perf_event.h>
#include <sys/resource.h>

#include "harness/counters/event_group.h"
#include "harness/counters/source.h"
#include "harness/counting.h"

namespace topdnn {

namespace {

const std::vector<PerfEvent>& SoftwareEvents() {
  static const std::vector<PerfEvent> events = {
      {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
      {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
      {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};
  return events;
}

// Switches and migrations happen inside the kernel: without its mode they would read as zero.
constexpr PerfScope kScope = PerfScope::kUserAndKernel;

class SoftwareSource final : public CounterSource {
 public:
  SoftwareSource() { Begin(0); }
  void Begin(std::size_t /*pass*/) override {
    group_.Open(SoftwareEvents(), kScope, /*all_threads=*/true);
  }
  std::string_view name() const override { return "software"; }
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return group_.slots(); }
  void Read(std::uint64_t* raw) noexcept override { group_.Read(raw); }
  // A software event is on its counter whenever its thread runs, so the two times say nothing of
  // the region. But a time enabled of zero since the opening means a failed read.
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    const std::size_t n = events_.size();
    if (before[n] == 0 || after[n] == 0) {
      return std::vector<EventCount>(n, {.value = std::nullopt, .running_fraction = 0.0});
    }
    return FoldCounts(before.first(n), after.first(n));
  }

 private:
  EventGroup group_;
  std::vector<std::string> events_ = {"context-switches", "cpu-migrations", "page-faults"};
};

Availability ProbeSoftware() {
  EventGroup group;
  const int error = group.Open(SoftwareEvents(), kScope, /*all_threads=*/false);
  if (error != 0) return ExplainRefusal(error, PerfSurroundings::Here(), "software events");
  return {.works = true, .reason = "perf_event software events of every thread", .remedy = ""};
}

const SourceRegistration kSoftware({.name = "software",
                                    .what = "the kernel's software events",
                                    .probe = ProbeSoftware,
                                    .open = []() -> std::unique_ptr<CounterSource> {
                                      return std::make_unique<SoftwareSource>();
                                    }});

// Under a name of its own, and with getrusage's terms, since it does not count the same: switches
// are split by cause, faults by cost, and migrations are missing.
class RusageSource final : public CounterSource {
 public:
  std::string_view name() const override { return "rusage"; }
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
                                  .probe = []() -> Availability {
                                    return {.works = true,
                                            .reason =
                                                "context switches and page faults of the "
                                                "whole process",
                                            .remedy = ""};
                                  },
                                  .open = []() -> std::unique_ptr<CounterSource> {
                                    return std::make_unique<RusageSource>();
                                  }});

}  // namespace

}  // namespace topdnn
