// `topdnn train NET`: trains on real images, and says after each epoch how well.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/workload.h"
#include "kernels/thread_width.h"
#include "networks/parameters.h"

namespace topdnn {

namespace {

struct TrainOptions {
  WorkloadOptions workload;
  int epochs = 3;
  std::int64_t interval = 0;  // steps a row besides those of the epochs; 0: none
};

// Copies parameters between plans of one network, whatever their layouts.
void CopyParameters(const Plan& from, const Plan& to) {
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    to.Write(to.parameters()[i].value, from.Read(from.parameters()[i].value));
  }
}

// Images of the batch whose largest logit is their label's.
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

double TestAccuracy(Plan& inference, const Dataset& test, const Workload& workload) {
  BatchLoader loader(test, {.image = workload.image,
                            .batch = workload.batch,
                            .seed = 1,
                            .shuffle = false,
                            .drop_last = false});
  std::int64_t correct = 0;
  for (bool last = false; !last && !Interrupted();) {
    const Batch batch = loader.Next();
    FeedBatch(inference, batch);
    inference.Run();
    correct += CountCorrect(inference, batch, workload.classes);
    last = batch.last_of_epoch;
  }
  return static_cast<double>(correct) / static_cast<double>(test.size());
}

// Rows of a long training: every so many steps their mean loss, and where their time went.
class IntervalRows {
 public:
  IntervalRows(Plan& plan, std::int64_t interval) : plan_(plan), interval_(interval) {
    for (const Stage& stage : plan.stages()) {
      const std::string_view pass = NameOf(stage.pass);
      groups_.push_back(pass.starts_with("backward") ? kBackward
                        : pass == "update"           ? kUpdate
                        : pass == "forward"          ? kForward
                                                     : kRest);
    }
  }

  static void PrintHead() {
    fmt::print("{:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", "step", "loss", "ms/step",
               "forward", "backward", "update", "rest");
  }

  // One step of the plan, with a reading of the clock between two groups.
  void RunStep() {
    const ThreadWidth width(plan_.threads());
    auto before = Clock::now();
    for (std::size_t s = 0; s < groups_.size(); ++s) {
      plan_.RunStage(s);
      if (s + 1 < groups_.size() && groups_[s + 1] == groups_[s]) continue;
      const auto after = Clock::now();
      seconds_[groups_[s]] += std::chrono::duration<double>(after - before).count();
      before = after;
    }
  }

  // After each step.
  void Add(double loss) {
    ++steps_;
    loss_ += loss;
    if (++in_row_ < interval_) return;
    const auto n = static_cast<double>(in_row_);
    double step = 0;
    for (const double group : seconds_) step += group;
    fmt::print("{:>9}  {:>9.4f}  {:>10.3f}", steps_, loss_ / n, step / n * 1e3);
    for (const Group group : {kForward, kBackward, kUpdate, kRest}) {
      fmt::print("  {:>10.3f}", seconds_[group] / n * 1e3);
    }
    fmt::print("\n");
    std::fflush(stdout);
    in_row_ = 0;
    loss_ = 0;
    seconds_.fill(0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum Group : std::size_t { kForward, kBackward, kUpdate, kRest, kGroups };

  Plan& plan_;
  std::int64_t interval_;
  std::vector<Group> groups_;  // of each stage
  std::array<double, kGroups> seconds_{};
  std::int64_t steps_ = 0;
  std::int64_t in_row_ = 0;
  double loss_ = 0;
};

// The mean loss of one epoch. `rows`: nullptr without them.
double TrainEpoch(Plan& plan, BatchLoader& loader, IntervalRows* rows) {
  const BufferId loss = plan.FindByName("loss");
  double sum = 0;
  std::int64_t steps = 0;
  for (bool last = false; !last && !Interrupted(); ++steps) {
    const Batch batch = loader.Next();
    FeedBatch(plan, batch);
    rows != nullptr ? rows->RunStep() : plan.Run();
    const double own = plan.Read(loss).front();
    if (rows != nullptr) rows->Add(own);
    sum += own;
    last = batch.last_of_epoch;
  }
  return sum / static_cast<double>(std::max<std::int64_t>(steps, 1));
}

int RunTrain(const TrainOptions& options) {
  if (options.epochs < 1) {
    throw UsageError(fmt::format("--epochs {}: must be 1 or more", options.epochs));
  }
  if (options.interval < 0) {
    throw UsageError(fmt::format("--interval {}: must be 1 or more", options.interval));
  }
  InterruptFlag();
  Workload training = MakeWorkload(options.workload, /*training=*/true);
  Workload inference = MakeWorkload(options.workload, /*training=*/false);
  const DatasetPair data = OpenImages(options.workload, training);
  BatchLoader loader(
      *data.train,
      {.image = training.image, .batch = training.batch, .seed = options.workload.seed});
  fmt::print("{} on {}: {} images, batch {}, {} threads, {} at learning rate {}\n",
             training.network, data.train->name(), data.train->size(), training.batch,
             training.plan->threads(), options.workload.optimizer, options.workload.learning_rate);
  fmt::print("{:>5}  {:>10}  {:>14}  {:>9}  {:>10}\n", "epoch", "loss", "test accuracy", "seconds",
             "images/s");
  IntervalRows rows(*training.plan, options.interval);
  if (options.interval > 0) IntervalRows::PrintHead();
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    const double loss = TrainEpoch(*training.plan, loader, options.interval > 0 ? &rows : nullptr);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (Interrupted()) break;
    CopyParameters(*training.plan, *inference.plan);
    const double accuracy = TestAccuracy(*inference.plan, *data.test, inference);
    if (Interrupted()) break;
    const auto images = static_cast<double>(loader.batches_per_epoch() * training.batch);
    fmt::print("{:>5}  {:>10.4f}  {:>12.2f} %  {:>9.1f}  {:>10.0f}\n", epoch, loss, accuracy * 100,
               seconds, images / seconds);
    std::fflush(stdout);
  }
  return Interrupted() ? kExitInterrupted : kExitGood;
}

std::function<int()> Configure(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  options->workload.batch = 64;
  options->workload.learning_rate = 0.02;
  AddWorkloadOptions(app, options->workload);
  app.add_option("--epochs", options->epochs, "passes over the training images");
  app.add_option("--interval", options->interval,
                 "steps a row of loss and milliseconds by phase, besides the rows of the epochs");
  return [options] { return RunTrain(*options); };
}

const CommandRegistration kTrain(
    {"train", "trains a network on real images: loss and test accuracy per epoch", Configure});

}  // namespace

}  // namespace topdnn
