#include "bench/studies/scale/scale_run.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/command_line/interrupt.h"
#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/report/json.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ThreadCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr double kNano = 1e-9;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kNano;
}

BufferId BlockOf(const Plan& plan, BufferId buffer) {
  while (plan.buffers()[buffer].parent >= 0) buffer = plan.buffers()[buffer].parent;
  return buffer;
}

// Updates a parameter. (The stages of running statistics are updates, too, but read no gradient.)
bool ReadsGradients(const Plan& plan, const Stage& stage) {
  return stage.pass == StagePass::kUpdate &&
         std::any_of(stage.buffers.begin(), stage.buffers.end(), [&plan](const auto& bound) {
           return plan.buffers()[bound.second].role == BufferRole::kParameterGradient;
         });
}

// Batches kept for feeding, of the whole group: a few, and at most this many bytes.
constexpr std::int64_t kMostBatches = 8;
constexpr std::int64_t kMostImageBytes = std::int64_t{256} << 20;

// Reads the group's first batches, and keeps this rank's part of each.
std::vector<Batch> ReadParts(const WorkloadOptions& options, const Workload& workload,
                             std::int64_t global_batch, int rank, std::string& source) {
  const DatasetPair pair = OpenImages(options, workload);
  source = pair.train->name();
  BatchLoader loader(*pair.train, {.image = workload.image,
                                   .batch = global_batch,
                                   .seed = options.seed,
                                   .shuffle = true,
                                   .drop_last = false,
                                   .prefetch = 0});
  const std::int64_t bytes = global_batch * workload.image.elements() * 4;
  const std::int64_t count = std::clamp<std::int64_t>(
      kMostImageBytes / bytes, 1, std::min(kMostBatches, loader.batches_per_epoch()));
  std::vector<Batch> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.push_back(PartOf(loader.Next(), rank * workload.batch, workload.batch));
  }
  return parts;
}

Json ToJson(const RankSamples& samples) {
  Json json = Json::array();
  for (const StepTimes& step : samples.steps) {
    Json row = {step.seconds, step.compute, step.update, step.exposed, step.packing, step.hidden};
    for (const BucketTimes& bucket : step.buckets) {
      row.push_back({bucket.seconds, bucket.exposed, bucket.hidden, bucket.ready});
    }
    json.push_back(std::move(row));
  }
  return json;
}

RankSamples SamplesOf(const Json& json) {
  constexpr std::size_t kFirstBucket = 6;
  RankSamples samples;
  for (const Json& row : json) {
    StepTimes step{row[0], row[1], row[2], row[3], row[4], row[5], {}, true};
    for (std::size_t i = kFirstBucket; i < row.size(); ++i) {
      step.buckets.push_back({row[i][0], row[i][1], row[i][2], row[i][3]});
    }
    samples.steps.push_back(std::move(step));
  }
  return samples;
}

}  // namespace

std::size_t FirstUpdateOf(const Plan& plan) {
  const std::vector<Stage>& stages = plan.stages();
  const auto updates = [&plan](const Stage& stage) { return ReadsGradients(plan, stage); };
  const auto first = std::find_if(stages.begin(), stages.end(), updates);
  if (!std::all_of(first, stages.end(), updates)) {
    throw std::runtime_error("the plan has other stages after the first update");
  }
  return static_cast<std::size_t>(first - stages.begin());
}

std::vector<GradientBlock> GradientBlocksOf(const Plan& plan) {
  std::vector<GradientBlock> blocks;
  std::vector<BufferId> ids;
  for (std::size_t i = 0; i < plan.buffers().size(); ++i) {
    const Buffer& buffer = plan.buffers()[i];
    if (buffer.role != BufferRole::kParameterGradient || buffer.parent >= 0) continue;
    if (buffer.desc.type != DataType::kF32) throw std::runtime_error("gradients are not f32");
    const auto id = static_cast<BufferId>(i);
    blocks.push_back({buffer.name.substr(0, buffer.name.rfind('.')), plan.DataAs<float>(id),
                      buffer.desc.shape.elements(), 0});
    ids.push_back(id);
  }
  for (std::size_t stage = 0; stage < plan.stages().size(); ++stage) {
    if (plan.stages()[stage].pass == StagePass::kUpdate) continue;
    for (const auto& [arg, buffer] : plan.stages()[stage].buffers) {
      const auto found = std::find(ids.begin(), ids.end(), BlockOf(plan, buffer));
      if (found != ids.end())
        blocks[static_cast<std::size_t>(found - ids.begin())].last_stage = stage;
    }
  }
  return blocks;
}

Batch PartOf(const Batch& batch, std::int64_t first, std::int64_t images) {
  const auto pixels = static_cast<std::int64_t>(batch.images.size() / batch.labels.size());
  Batch part;
  part.images.assign(batch.images.begin() + first * pixels,
                     batch.images.begin() + (first + images) * pixels);
  part.labels.assign(batch.labels.begin() + first, batch.labels.begin() + first + images);
  part.valid = std::clamp<std::int64_t>(batch.valid - first, 0, images);
  return part;
}

RankRun::RankRun(const ScaleOptions& options, std::int64_t global_batch, Transport& transport)
    : options_(options), transport_(transport), global_batch_(global_batch) {
  WorkloadOptions own = options.workload;
  own.batch = global_batch / transport.group();
  FitToData(own);
  workload_ = MakeWorkload(own, /*training=*/true);
  Plan& plan = *workload_.plan;
  batches_ = ReadParts(own, workload_, global_batch, transport.rank(), source_);
  const std::vector<std::byte> state = plan.SaveState();
  FeedBatch(plan, batches_.front());
  RequireStep(own, /*training=*/true, plan);
  ThrowOnRunFailure();
  plan.RestoreState(state);
  std::vector<GradientBlock> blocks = GradientBlocksOf(plan);
  std::int64_t elements = 0;
  for (const GradientBlock& block : blocks) elements += block.elements;
  const Wire wire = options.wire_type();
  bucket_bytes_ = BucketBytes(options, elements * BytesOf(wire));
  step_ = std::make_unique<ParallelStep>(
      StepStages{plan.stages().size(), FirstUpdateOf(plan),
                 [&plan](std::size_t stage) { plan.RunStage(stage); }},
      MakeBuckets(std::move(blocks), bucket_bytes_, wire), wire, transport, SecondsNow);
}

RankRun::~RankRun() = default;

bool RankRun::Step(Result& result, bool timed) {
  const Plan& plan = *workload_.plan;
  FeedBatch(plan, batches_[next_]);
  next_ = (next_ + 1) % batches_.size();
  const double cpu_before = ThreadCpuSeconds();
  StepTimes times = step_->Run(!options_.no_overlap);
  const double cpu_seconds = ThreadCpuSeconds() - cpu_before;
  ThrowOnRunFailure();
  // The ranks exchange their losses, whether they stop, and whose gradients are not finite.
  const auto ranks = static_cast<std::size_t>(transport_.group());
  std::vector<double> sums(2 + ranks);
  const double loss = plan.Read(plan.FindByName("loss")).front();
  const bool finite = times.finite && std::isfinite(loss);
  sums[0] = finite ? loss / static_cast<double>(ranks) : 0;
  sums[1] = Interrupted() ? 1 : 0;
  sums[2 + static_cast<std::size_t>(transport_.rank())] = finite ? 0 : 1;
  transport_.Sum(sums);
  std::string bad;
  for (std::size_t i = 0; i < ranks; ++i) {
    if (sums[2 + i] != 0) bad += fmt::format("{}{}", bad.empty() ? "" : ", ", i);
  }
  GroupRun& group = result.group;
  if (!bad.empty()) {
    group.wrong = fmt::format(
        "the gradients of rank {} are not finite at step {}: take a smaller --learning-rate, or "
        "look at that node",
        bad, group.losses.size() + 1);
    return false;
  }
  group.losses.push_back(sums[0]);
  if (timed) {
    result.cpu_seconds += cpu_seconds;
    result.wall_seconds += times.seconds;
    if (plan.threads() == 1) result.own.on_cpu = result.cpu_seconds / result.wall_seconds;
    result.own.steps.push_back(std::move(times));
  }
  group.complete = sums[1] == 0;
  return group.complete;
}

void RankRun::MeasureSums(std::vector<SumSpeed>& speeds) {
  if (transport_.group() == 1) return;
  constexpr int kRepeats = 10;  // and one untimed
  constexpr int kLargeRepeats = 4;
  constexpr std::int64_t kLarge[] = {std::int64_t{4} << 20, std::int64_t{16} << 20};  // bytes
  constexpr std::int64_t kForModel[] = {1 << 10, 8 << 10, 64 << 10, 512 << 10};
  if (speeds.empty()) {
    std::set<std::int64_t> sizes;
    if (options_.predict) {
      for (const std::int64_t bytes : kForModel)
        sizes.insert(bytes / BytesOf(options_.wire_type()));
    }
    for (const Bucket& bucket : step_->buckets()) sizes.insert(bucket.elements);
    for (const std::int64_t bytes : kLarge) sizes.insert(bytes / BytesOf(options_.wire_type()));
    for (const std::int64_t elements : sizes) speeds.push_back({elements, {}});
  }
  std::vector<float> memory(static_cast<std::size_t>(speeds.back().elements));
  for (SumSpeed& speed : speeds) {
    const bool large = speed.elements * BytesOf(options_.wire_type()) >= kLarge[0];
    for (int i = 0; i <= (large ? kLargeRepeats : kRepeats); ++i) {
      transport_.Barrier();
      const double begin = SecondsNow();
      transport_.BeginSum(0, memory.data(), speed.elements, options_.wire_type());
      transport_.Wait(0);
      if (i > 0) speed.seconds.push_back(SecondsNow() - begin);
    }
  }
}

RankRun::Result RankRun::Steps() {
  Result result;
  const ThreadWidth width(workload_.plan->threads());
  MeasureSums(result.group.speeds);
  bool more = true;
  for (std::int64_t i = 0; more && i < kWarmUpSteps + options_.steps; ++i) {
    more = Step(result, i >= kWarmUpSteps);
  }
  if (result.group.complete && result.group.wrong.empty()) MeasureSums(result.group.speeds);
  for (const PlanParameter& parameter : workload_.plan->parameters()) {
    for (const double value : workload_.plan->Read(parameter.value)) {
      result.parameter_sum += value;
      result.parameter_size += std::abs(value);
    }
  }
  return result;
}

std::optional<GroupRun> RankRun::Train(RankRun* run, Transport& transport) {
  Result result;
  if (run != nullptr) result = run->Steps();
  const std::vector<std::string> texts = transport.Gather(Json{
      {"samples", ToJson(result.own)},
      {"on_cpu", JsonNumber(result.own.on_cpu)},
      {"sum", JsonNumber(result.parameter_sum)},
      {"size", JsonNumber(result.parameter_size)}}.dump());
  if (transport.rank() != 0 || run == nullptr) return std::nullopt;
  GroupRun group = std::move(result.group);
  group.ranks = transport.group();
  group.global_batch = run->global_batch_;
  group.source = run->source_;
  group.buckets = run->step_->buckets();
  group.bucket_bytes = run->bucket_bytes_;
  if (group.wrong.empty() && !std::isfinite(result.parameter_sum)) {
    group.wrong = "the parameters are not finite at the end: take a smaller --learning-rate";
  }
  // Sums are the same on all ranks up to the order of additions, so the parameters stay equal.
  constexpr double kMostDifference = 1e-5;
  for (int i = 0; i < group.ranks; ++i) {
    const Json json = Json::parse(texts[static_cast<std::size_t>(i)]);
    group.samples.push_back(SamplesOf(json["samples"]));
    if (json["on_cpu"].is_number()) group.samples.back().on_cpu = json["on_cpu"].get<double>();
    if (!group.wrong.empty()) continue;
    const double difference =
        json["sum"].is_number()
            ? std::abs(json["sum"].get<double>() - result.parameter_sum) / result.parameter_size
            : INFINITY;
    if (!(difference <= kMostDifference)) {
      group.wrong = fmt::format(
          "the parameters of rank {} differ from those of rank 0 by {:.2g} of their size: its sums "
          "are wrong; look at that node",
          i, difference);
    }
  }
  return group;
}

}  // namespace topdnn
