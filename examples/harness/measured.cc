// Measures two callables in turns with topdnn's harness: a copy of numbers, and its sorting.

#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "harness/counters/source.h"
#include "harness/measure/measure.h"
#include "harness/statistics/summary.h"

int main() {
  std::vector<double> numbers(1 << 14);
  std::mt19937 random(1);
  std::generate(numbers.begin(), numbers.end(), [&] { return double(random()); });
  std::vector<double> sorted = numbers;

  auto copy = [&] { std::copy(numbers.begin(), numbers.end(), sorted.begin()); };
  auto sort = [&] { std::sort(sorted.begin(), sorted.end()); };
  const std::vector<topdnn::TimedStage> stages = {{"copy", topdnn::Action::Of(copy)},
                                                  {"sort", topdnn::Action::Of(sort)}};
  topdnn::MeasureOptions options;  // a short measurement
  options.seconds = 0.1;
  options.most_warmup_seconds = 0.2;
  const topdnn::SequenceSamples samples = topdnn::MeasureSequence(stages, options);

  std::printf("clock %s, %zu counter sources\n", samples.clock.c_str(),
              topdnn::CounterSources().size());
  for (const topdnn::StageSamples& stage : samples.stages) {
    const topdnn::Summary seconds = topdnn::Summarize(stage.seconds);
    std::printf("%s: median %.2f us, p90 %.2f us, n %lld\n", stage.name.c_str(),
                seconds.median * 1e6, seconds.p90 * 1e6, static_cast<long long>(seconds.n));
  }
  return topdnn::CounterSources().empty() || !std::is_sorted(sorted.begin(), sorted.end()) ? 1 : 0;
}
