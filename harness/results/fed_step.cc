#include "harness/results/fed_step.h"

#include <numeric>

namespace topdnn {

namespace {

double Mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

StepPart PartOf(const std::vector<double>& samples) {
  return {.mean = Mean(samples), .ci95 = MedianInterval(samples), .seconds = Summarize(samples)};
}

}  // namespace

void Summarize(FedStep& step) {
  std::vector<double> whole, compute, input_wait, other;
  for (const FedStepTimes& one : step.times) {
    whole.push_back(one.input_wait + one.compute + one.other);
    compute.push_back(one.compute);
    input_wait.push_back(one.input_wait);
    other.push_back(one.other);
  }
  step.step = PartOf(whole);
  step.compute = PartOf(compute);
  step.input_wait = PartOf(input_wait);
  step.other = PartOf(other);
}

}  // namespace topdnn
