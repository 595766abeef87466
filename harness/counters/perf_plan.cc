#include "harness/counters/perf_plan.h"

#include <algorithm>

#include "harness/counters/perf_group.h"

namespace topdnn {

namespace {

// More general counters than any core has (Intel: 8 with one hardware thread; Arm: up to 31).
constexpr std::size_t kMaxCounters = 32;

class Planner {
 public:
  Planner(const PerfSyscalls& calls, std::vector<PerfRequest> requests,
          const std::function<void()>& work)
      : calls_(calls), requests_(std::move(requests)), work_(work) {
    std::stable_partition(requests_.begin(), requests_.end(),
                          [](const PerfRequest& request) { return request.common; });
  }

  PerfPlan Plan() {
    DropRefused();
    plan_.counters = FreeCounters();
    for (std::size_t counters = plan_.counters; !requests_.empty();) {
      if (TryWith(counters)) break;
      if (counters <= 1) {
        DropStarved();
        counters = plan_.counters;
      } else {
        --counters;
      }
    }
    return std::move(plan_);
  }

 private:
  // Tests each event by itself, to find those that cannot be opened at all.
  void DropRefused() {
    std::erase_if(requests_, [this](const PerfRequest& request) {
      PerfGroup alone(calls_);
      const int error = alone.Open(Members({&request})).error;
      if (error != 0) plan_.absent.push_back({request.event.name, error});
      return error != 0;
    });
  }

  // How many copies of one unconstrained event count at once. A group with one event too many is
  // refused, or (if another user holds a counter) opens and never runs.
  std::size_t FreeCounters() const {
    const auto free =
        std::find_if(requests_.begin(), requests_.end(), [](const PerfRequest& request) {
          return !request.needs.fixed && !request.needs.paired && ~request.needs.counters == 0;
        });
    if (free == requests_.end()) return kMaxCounters;
    std::size_t counters = 0;
    while (counters < kMaxCounters) {
      const std::vector<ResolvedEvent> copies(counters + 1, free->event);
      const Trial trial = TryGroup(calls_, copies, work_);
      if (trial.verdict != TrialVerdict::kCounts) break;
      ++counters;
    }
    return std::max<std::size_t>(counters, 1);
  }

  // `slots` leads the metrics of PERF_METRICS, which need it in their group.
  std::vector<ResolvedEvent> Members(const std::vector<const PerfRequest*>& requests) const {
    std::vector<ResolvedEvent> events;
    for (const PerfRequest* request : requests) {
      if (NeedsSlots(request->event) && events.empty()) {
        events.push_back({"slots", PERF_TYPE_RAW, kSlotsConfig, "raw"});
      }
      events.push_back(request->event);
    }
    return events;
  }

  bool TryWith(std::size_t counters) {
    std::vector<SchedulableEvent> needs;
    std::vector<std::size_t> common;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      needs.push_back(requests_[i].needs);
      if (requests_[i].common) common.push_back(i);
    }
    const CounterSchedule schedule = PlanPasses(needs, counters, common);
    if (!schedule.impossible.empty()) return false;
    plan_.passes.clear();
    for (const CounterPass& pass : schedule.passes) {
      std::vector<const PerfRequest*> members;
      for (const std::size_t i : pass.events) members.push_back(&requests_[i]);
      plan_.passes.push_back(Members(members));
      const TrialVerdict verdict = TryGroup(calls_, plan_.passes.back(), work_).verdict;
      // An event that counts part of the time is kept, with its fraction.
      if (verdict == TrialVerdict::kRefused || verdict == TrialVerdict::kNeverRuns) {
        plan_.passes.clear();
        return false;
      }
    }
    return true;
  }

  // Drops the events that do not count even with only the common events.
  void DropStarved() {
    std::vector<const PerfRequest*> common;
    for (const PerfRequest& request : requests_) {
      if (request.common) common.push_back(&request);
    }
    const std::size_t before = requests_.size();
    std::vector<PerfRequest> kept;
    for (const PerfRequest& request : requests_) {
      auto members = common;
      if (!request.common) members.push_back(&request);
      const Trial trial = TryGroup(calls_, Members(members), work_);
      const bool counts =
          trial.verdict == TrialVerdict::kCounts || trial.verdict == TrialVerdict::kMultiplexed;
      if (counts && !(request.needs.paired && plan_.counters < 2)) {
        kept.push_back(request);
      } else {
        plan_.absent.push_back({request.event.name, trial.outcome.error});
      }
    }
    // Each event counts with the common ones, but they cannot be packed together. Their constraints
    // must be the cause, so the last event is dropped.
    if (kept.size() == before) {
      plan_.absent.push_back({kept.back().event.name, 0});
      kept.pop_back();
    }
    requests_ = std::move(kept);
  }

  const PerfSyscalls& calls_;
  std::vector<PerfRequest> requests_;
  const std::function<void()>& work_;
  PerfPlan plan_;
};

}  // namespace

PerfPlan PlanPerf(const PerfSyscalls& calls, const std::vector<PerfRequest>& requests,
                  const std::function<void()>& work) {
  return Planner(calls, requests, work).Plan();
}

void SpinForATrial() {
  for (int i = 0; i < 100'000; ++i) asm volatile("" ::: "memory");
}

}  // namespace topdnn
