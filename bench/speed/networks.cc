#include "bench/speed/networks.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "bench/choice/networks/network_choice.h"
#include "bench/speed/case.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

struct StepCase {
  std::string_view network;
  DataType type;
  std::int64_t infer_batches[3];  // 0: none
  std::int64_t train_batches[3];
};

constexpr StepCase kStepCases[] = {
    {"resnet50", DataType::kF32, {1, 8, 32}, {8, 32}},
    {"resnet50", DataType::kBF16, {8, 32}, {8, 32}},
    {"googlenet:bn", DataType::kF32, {1, 8, 32}, {8, 32}},
    {"googlenet:bn", DataType::kBF16, {8}, {}},
    {"mobilenet_v2", DataType::kF32, {1, 8, 32}, {8}},
    {"alexnet", DataType::kF32, {8, 32}, {8, 32}},
    {"alexnet:one-tower", DataType::kF32, {1, 8, 32}, {8, 32}},  // what PyTorch calls AlexNet
    {"cnn", DataType::kF32, {32, 128}, {32, 128}},
};

constexpr std::string_view kStepBackends[] = {"onednn", kAutoBackend};

Findings TimeSteps(WorkloadOptions options, bool training) {
  Findings findings;
  findings.label = ChooseInNetwork(options, training);
  Workload workload = MakeWorkload(options, training);
  TrainingImages(options, workload).FillNext(*workload.plan);
  const std::vector<double> seconds = SecondsOfSteps(*workload.plan);
  const Summary steps = Summarize(seconds);
  findings.counters["step_s"] = steps.median;
  findings.counters["step_min_s"] = steps.min;
  findings.counters["step_p90_s"] = steps.p90;
  findings.counters["images/s"] = static_cast<double>(workload.batch) / steps.median;
  return findings;
}

}  // namespace

std::vector<double> SecondsOfSteps(Plan& plan) {
  auto run = [&]() noexcept { plan.Run(); };
  return SecondsOfRuns(plan.threads(), Action::Of(run), 4, 2);
}

void AddNetworkSpeed(int threads, BenchmarkCases& cases) {
  for (const StepCase& step : kStepCases) {
    for (const bool training : {false, true}) {
      for (const std::int64_t batch : training ? step.train_batches : step.infer_batches) {
        if (batch == 0) continue;
        for (const std::string_view backend : kStepBackends) {
          WorkloadOptions options;
          options.network = step.network;
          options.backend = backend;
          options.dtype = NameOf(step.type);
          options.batch = batch;
          options.threads = threads;
          AddSpeedCase(
              fmt::format("speed/step/{}/{}/{}/n{}/{}/t{}", step.network,
                          training ? "train" : "infer", options.dtype, batch, backend, threads),
              [options, training] { return TimeSteps(options, training); }, cases);
        }
      }
    }
  }
}

}  // namespace topdnn
