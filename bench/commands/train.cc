// `topdnn train NET`: trains on real images, and prints loss and accuracy after each epoch.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/profile/fed_steps.h"
#include "bench/profile/interval_rows.h"
#include "bench/workload/images.h"
#include "bench/workload/input_options.h"
#include "bench/workload/network_source.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "kernels/kernel/run_failure.h"
#include "networks/onnx/export/exporter.h"
#include "networks/parameters/learning_rate.h"

namespace topdnn {

namespace {

struct TrainOptions {
  WorkloadOptions workload;
  InputOptions input;
  int epochs = 3;
  std::int64_t interval = 0;  // steps per additional row; 0: no such rows
  std::string schedule = "constant";
  double warmup_epochs = 0;
  std::string save;  // an .onnx file; empty: none
};

// Writes the trained network as an ONNX file.
void SaveTrained(const TrainOptions& options, const Plan& plan) {
  const NetworkSource source =
      OpenNetwork({.network = options.workload.network,
                   .weights = {},
                   .batch = options.workload.batch,
                   .size = options.workload.size,
                   .classes = options.workload.classes,
                   .input_shapes = ParseInputShapes(options.workload.input_shapes),
                   .outputs = options.workload.outputs,
                   .memory_limit = MemoryLimit()});
  ParameterValues values;
  const auto add = [&](const std::string& key, const Shape& shape, BufferId buffer) {
    Tensor& tensor = values[key] = Tensor(shape);
    FromDouble(plan.Read(buffer), tensor.desc(), tensor.data());
  };
  for (const PlanParameter& parameter : plan.parameters()) {
    add(ParameterKey(parameter.layer, parameter.spec.name), parameter.spec.shape, parameter.value);
  }
  for (const PlanStatistic& statistic : plan.statistics()) {
    add(ParameterKey(statistic.layer, statistic.name), plan.buffers()[statistic.buffer].desc.shape,
        statistic.buffer);
  }
  WriteFileAtomically(options.save, ExportOnnx(source.graph, values));
}

// Copies parameters and running statistics from a training plan to an inference plan of the same
// network. Layouts may differ.
void CopyParameters(const Plan& from, const Plan& to) {
  std::map<std::pair<std::string, std::string>, BufferId> buffers;
  for (const PlanParameter& parameter : from.parameters()) {
    buffers[{parameter.layer, parameter.spec.name}] = parameter.value;
  }
  for (const PlanStatistic& statistic : from.statistics()) {
    buffers[{statistic.layer, statistic.name}] = statistic.buffer;
  }
  for (const PlanParameter& parameter : to.parameters()) {
    to.Write(parameter.value, from.Read(buffers.at({parameter.layer, parameter.spec.name})));
  }
  for (const PlanStatistic& statistic : to.statistics()) {
    to.Write(statistic.buffer, from.Read(buffers.at({statistic.layer, statistic.name})));
  }
  to.PrepareParameters();
}

// Images of the batch whose label has the largest logit.
std::int64_t CountCorrect(const Plan& plan, const Batch& batch, std::int64_t classes) {
  const std::vector<double> logits = plan.Read(plan.Find(BufferRole::kOutput));
  std::int64_t correct = 0;
  for (std::int64_t n = 0; n < batch.valid; ++n) {
    const auto row = logits.begin() + n * classes;
    const auto best = std::max_element(row, row + classes) - row;
    correct += best == batch.labels[static_cast<std::size_t>(n)] ? 1 : 0;
  }
  return correct;
}

// The training diverged and cannot continue; the message is one line.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The last update of an epoch can make parameters useless although the last loss is finite.
void CheckLogits(const Plan& inference) {
  for (const double logit : inference.Read(inference.Find(BufferRole::kOutput))) {
    if (!std::isfinite(logit)) {
      throw Diverged(fmt::format("the trained network gives {} for a test image", logit));
    }
  }
}

double TestAccuracy(Plan& inference, const Dataset& test, const Workload& workload) {
  BatchLoader loader(test, {.image = workload.image,
                            .batch = workload.batch,
                            .seed = 1,
                            .shuffle = false,
                            .drop_last = false});
  std::int64_t correct = 0;
  for (bool last = false; !last && !Interrupted();) {
    const Batch& batch = loader.Next();
    FeedBatch(inference, batch);
    inference.Run();
    ThrowOnRunFailure();
    CheckLogits(inference);
    correct += CountCorrect(inference, batch, workload.classes);
    last = batch.last_of_epoch;
  }
  return static_cast<double>(correct) / static_cast<double>(test.size());
}

struct Epoch {
  double loss = 0;                  // mean
  std::vector<FedStepTimes> steps;  // empty if interrupted before the first
};

// Says once, after the first steps, what a long run will take.
class Estimate {
 public:
  explicit Estimate(std::int64_t steps) : steps_(steps) {}

  void AfterStep(std::int64_t done) {
    constexpr double kMeasured = 2;  // seconds
    constexpr double kLong = 600;
    const double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (said_ || done < 2 || elapsed < kMeasured) return;
    said_ = true;
    const double seconds = elapsed / static_cast<double>(done) * static_cast<double>(steps_);
    if (seconds < kLong) return;
    fmt::print(stderr, "topdnn: train: {} steps take about {} at {:.3g} ms a step\n", steps_,
               LongTimeText(seconds), elapsed / static_cast<double>(done) * 1e3);
  }

 private:
  std::int64_t steps_;  // of the run
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool said_ = false;
};

// `first` is the index of the epoch's first step in the run. Throws Diverged for a loss that is not
// finite.
Epoch TrainEpoch(Plan& plan, BatchLoader& loader, const LearningRateSchedule& schedule,
                 std::int64_t first, IntervalRows& rows, Estimate& estimate) {
  using Clock = FedStepMarks::Clock;
  const BufferId loss = plan.FindByName("loss");
  const BufferId rate = plan.FindByName("learning_rate");
  Epoch epoch;
  double sum = 0;
  Clock::time_point end = Clock::now();
  for (bool last = false; !last && !Interrupted();) {
    const auto step = static_cast<std::int64_t>(epoch.steps.size());
    FedStepMarks marks;
    marks.begin = end;
    const Batch& batch = loader.Next();
    marks.arrived = Clock::now();
    FeedBatch(plan, batch);
    plan.Write(rate, std::vector<double>{schedule.At(first + step)});
    marks.computes = Clock::now();
    rows.RunStep();
    marks.computed = Clock::now();
    ThrowOnRunFailure();
    const double own = plan.Read(loss).front();
    if (!std::isfinite(own)) {
      throw Diverged(fmt::format("the loss is {} at step {}", own, first + step + 1));
    }
    rows.Add(own);
    sum += own;
    last = batch.last_of_epoch;
    end = Clock::now();
    epoch.steps.push_back(marks.Until(end));
    estimate.AfterStep(first + step + 1);
  }
  epoch.loss = sum / static_cast<double>(std::max<std::size_t>(epoch.steps.size(), 1));
  return epoch;
}

// The mean milliseconds of a step and of its parts.
std::string StepColumns(const Epoch& epoch) {
  if (epoch.steps.empty()) return "";
  FedStep step;
  step.times = epoch.steps;
  Summarize(step);
  constexpr double kMs = 1e3;
  return fmt::format("  {:>8.2f}  {:>7.2f}  {:>6.2f}  {:>6.2f}", step.step.mean * kMs,
                     step.compute.mean * kMs, step.input_wait.mean * kMs, step.other.mean * kMs);
}

int RunTrain(TrainOptions options) {
  if (options.epochs < 1) {
    throw UsageError(fmt::format("--epochs {}: must be 1 or more", options.epochs));
  }
  if (options.interval < 0) {
    throw UsageError(fmt::format("--interval {}: must be 0 or more", options.interval));
  }
  const auto kind = ParseSchedule(options.schedule);
  if (!kind) {
    throw UsageError(
        fmt::format("no schedule '{}'; there are: constant step cosine", options.schedule));
  }
  if (!(options.warmup_epochs >= 0)) throw UsageError("--warmup-epochs: must be 0 or more");
  CheckInputOptions(options.input);
  const std::string& network = options.workload.network;
  if (options.save == kStandardOutput) {
    throw UsageError("--save -: the table goes to standard output; name a file");
  }
  CheckOutputs({options.save}, InputFiles(network, options.workload.weights));
  InterruptFlag();
  FitToData(options.workload);
  const auto workload_for = [&](bool train) {
    WorkloadOptions chosen = options.workload;
    ChooseInNetwork(chosen, train);
    return MakeWorkload(chosen, train);
  };
  Workload training = workload_for(true);
  Workload inference = workload_for(false);
  const Plan& network_plan = *inference.plan;
  const Shape& output = network_plan.buffers()[network_plan.Find(BufferRole::kOutput)].desc.shape;
  if (output.rank() > 2) {
    throw UsageError(fmt::format(
        "{} gives {}: the data sets have one label for each image, not for each place; take topdnn "
        "profile {} --train for its step",
        network, output.ToString(), network));
  }
  DatasetPair data = OpenImages(options.workload, training);
  const Placement placement(options.input.placement, training.plan->threads());
  const auto images = AtSourceRate(std::move(data.train), options.input);
  BatchLoader loader(*images, LoaderOptionsOf(options.input, placement, training.image,
                                              training.batch, options.workload.seed));
  const std::int64_t steps = loader.batches_per_epoch();
  const LearningRateSchedule schedule{
      .kind = *kind,
      .base = options.workload.learning_rate,
      .steps = steps * options.epochs,
      .warmup_steps = std::llround(options.warmup_epochs * static_cast<double>(steps))};
  fmt::print("{} on {}: {} images, batch {}, {} threads, {} at learning rate {}, {}\n",
             training.network, images->name(), images->size(), training.batch,
             training.plan->threads(), options.workload.optimizer, options.workload.learning_rate,
             options.schedule);
  fmt::print("{:>5}  {:>8}  {:>8}  {:>7}  {:>8}  {:>8}  {:>7}  {:>6}  {:>6}\n", "epoch", "loss",
             "accuracy", "seconds", "images/s", "ms/step", "compute", "input", "other");
  IntervalRows rows(*training.plan, options.interval);
  rows.PrintHead();
  Estimate estimate(steps * options.epochs);
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    const Epoch trained =
        TrainEpoch(*training.plan, loader, schedule, (epoch - 1) * steps, rows, estimate);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (Interrupted()) break;
    CopyParameters(*training.plan, *inference.plan);
    const double accuracy = TestAccuracy(*inference.plan, *data.test, inference);
    if (Interrupted()) break;
    const auto count = static_cast<double>(loader.batches_per_epoch() * training.batch);
    fmt::print("{:>5}  {:>8.4f}  {:>6.2f} %  {:>7.1f}  {:>8.0f}{}\n", epoch, trained.loss,
               accuracy * 100, seconds, count / seconds, StepColumns(trained));
    std::fflush(stdout);
  }
  if (!Interrupted() && !options.save.empty()) SaveTrained(options, *inference.plan);
  return Interrupted() ? kExitInterrupted : kExitGood;
}

std::function<int()> ConfigureTrain(CommandParser& parser) {
  auto options = std::make_shared<TrainOptions>();
  options->workload.default_batch = 64;
  options->workload.learning_rate = 0.02;
  AddWorkloadOptions(parser, options->workload);
  AddInputOptions(parser, options->input);
  parser.Add("--save FILE", options->save, "the trained network as an ONNX file");
  parser.Add("--epochs", options->epochs, "passes over the training images");
  parser.Add("--interval", options->interval,
             "also print a row of loss and milliseconds by phase after every N steps");
  parser.Add("--schedule constant|step|cosine", options->schedule, "schedule of the learning rate");
  parser.Add("--warmup-epochs", options->warmup_epochs,
             "epochs over which the learning rate rises from 0", Range{0, 1e6});
  return [options, &parser] {
    CheckTrainingOptions(parser, options->workload, /*training=*/true);
    try {
      return RunTrain(*options);
    } catch (const Diverged& diverged) {
      std::fflush(stdout);
      fmt::print(stderr, "topdnn: train: {}: take a smaller --learning-rate than {}\n",
                 diverged.what(), options->workload.learning_rate);
      return kExitWrong;
    }
  };
}

const CommandRegistration kTrain(
    {"train", Question::kModels,
     "trains a network on real images: loss and test accuracy per epoch", ConfigureTrain,
     "topdnn train lenet5 --epochs 2"});

}  // namespace

}  // namespace topdnn
