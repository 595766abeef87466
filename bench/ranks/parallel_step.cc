#include "bench/ranks/parallel_step.h"

#include <algorithm>
#include <utility>

namespace topdnn {

ParallelStep::ParallelStep(StepStages stages, std::vector<Bucket> buckets, Wire wire,
                           Transport& transport, std::function<double()> now)
    : stages_(std::move(stages)),
      buckets_(std::move(buckets)),
      wire_(wire),
      transport_(transport),
      now_(std::move(now)),
      sums_(buckets_.size()) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    sums_[i].memory.resize(static_cast<std::size_t>(buckets_[i].elements * BytesOf(wire_)));
  }
}

StepTimes ParallelStep::Run(bool overlap) {
  StepTimes times;
  times.buckets.resize(buckets_.size());
  const bool alone = transport_.group() == 1;
  const double begin = now_();
  std::size_t next = 0;  // bucket
  for (std::size_t stage = 0; stage < stages_.first_update; ++stage) {
    const double before = now_();
    stages_.run(stage);
    const double seconds = now_() - before;
    times.compute += seconds;
    if (AnyInProgress()) times.hidden += seconds;
    if (alone || !overlap) continue;
    for (std::size_t i = 0; i < next; ++i) Poll(i, times);
    for (; next < buckets_.size() && buckets_[next].last_stage == stage; ++next) Begin(next, times);
  }
  for (std::size_t i = 0; i < buckets_.size() && !alone; ++i) {
    if (!overlap) Begin(i, times);
    Finish(i, times);
  }
  const double updates = now_();
  for (std::size_t stage = stages_.first_update; stage < stages_.count; ++stage) stages_.run(stage);
  const double end = now_();
  times.update = end - updates;
  times.compute += times.update;
  times.seconds = end - begin;
  return times;
}

void ParallelStep::Begin(std::size_t bucket, StepTimes& times) {
  Sum& sum = sums_[bucket];
  sum.begin = now_();
  times.finite = PackGradients(buckets_[bucket], wire_, sum.memory.data()) && times.finite;
  transport_.BeginSum(static_cast<int>(bucket), sum.memory.data(), buckets_[bucket].elements,
                      wire_);
  sum.in_progress = true;
  times.buckets[bucket].ready = times.compute;
  Expose(bucket, sum.begin, times);
  times.packing += now_() - sum.begin;
}

void ParallelStep::Poll(std::size_t bucket, StepTimes& times) {
  if (!sums_[bucket].in_progress) return;
  const double before = now_();
  if (transport_.IsFinished(static_cast<int>(bucket))) Unpack(bucket, times);
  Expose(bucket, before, times);
}

void ParallelStep::Finish(std::size_t bucket, StepTimes& times) {
  if (!sums_[bucket].in_progress) return;
  const double before = now_();
  transport_.Wait(static_cast<int>(bucket));
  Unpack(bucket, times);
  Expose(bucket, before, times);
}

void ParallelStep::Unpack(std::size_t bucket, StepTimes& times) {
  Sum& sum = sums_[bucket];
  const double begin = now_();
  UnpackGradients(buckets_[bucket], wire_, sum.memory.data(),
                  1.0F / static_cast<float>(transport_.group()));
  sum.in_progress = false;
  times.buckets[bucket].hidden = times.compute - times.buckets[bucket].ready;
  const double end = now_();
  times.packing += end - begin;
  times.buckets[bucket].seconds = end - sum.begin;
}

bool ParallelStep::AnyInProgress() const {
  return std::any_of(sums_.begin(), sums_.end(), [](const Sum& sum) { return sum.in_progress; });
}

void ParallelStep::Expose(std::size_t bucket, double since, StepTimes& times) const {
  const double seconds = now_() - since;
  times.buckets[bucket].exposed += seconds;
  times.exposed += seconds;
}

}  // namespace topdnn
