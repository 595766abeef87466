#include "bench/studies/cosched/cosched_compare.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/scheduling/simulator.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

Schedule Simulated(const CoschedResult& result, const SpeedModel& model, const Policy& policy) {
  return Simulate(result.jobs, model, policy,
                  {.cpus = result.cpus, .part_width = result.part_width});
}

// The makespan at the common speed: the real one, multiplied by the ratio by which the simulated
// one changes at that speed.
void Compare(double common, const CoschedResult& result, CoschedPolicy& policy) {
  const std::string doubt = SpeedDoubt(*policy.speed, common);
  policy.doubt += (policy.doubt.empty() || doubt.empty() ? "" : "; ") + doubt;
  const auto real = WholeMakespan(*policy.real);
  const auto simulated = MetricsOf(*policy.simulated).makespan;
  if (!real || !simulated) return;
  const SpeedModel model = ModelAtSpeed(policy.model, common / policy.speed->mean());
  const auto changed = MetricsOf(Simulated(result, model, *policy.policy)).makespan;
  if (changed) policy.common_makespan = *real * *changed / *simulated;
}

}  // namespace

void AddSpeed(const SpeedCheck& before, const SpeedCheck& after, const CoschedResult& result,
              CoschedPolicy& policy) {
  const auto first = SpeedAt(result.jobs, result.model, before);
  const auto last = SpeedAt(result.jobs, result.model, after);
  if (first && last) {
    policy.speed = RunSpeed{.before = *first, .after = *last};
    policy.model = ModelAround(result.model, before, after, *policy.speed);
    policy.doubt = CheckDoubt(before, after);
    return;
  }
  policy.doubt = fmt::format("the machine's speed around its run is not known: {}",
                             OneLine(first ? after.failure : before.failure));
}

void SimulatePolicy(const CoschedResult& result, CoschedPolicy& policy) {
  policy.simulated = Simulated(result, policy.speed ? policy.model : result.model, *policy.policy);
  if (!policy.real) return;
  for (std::size_t j = 0; j < result.jobs.size(); ++j) {
    policy.real->jobs[j].alone = policy.simulated->jobs[j].alone;
  }
}

void CompareSpeeds(CoschedResult& result) {
  std::vector<RunSpeed> speeds;
  for (const CoschedPolicy& policy : result.policies) {
    if (policy.speed) speeds.push_back(*policy.speed);
  }
  if (speeds.empty()) return;
  result.common_speed = CommonSpeed(speeds);
  for (CoschedPolicy& policy : result.policies) {
    if (policy.speed) Compare(*result.common_speed, result, policy);
  }
}

}  // namespace topdnn
