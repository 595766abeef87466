#include "datasets/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

namespace topdnn {

BatchLoader::BatchLoader(const Dataset& dataset, LoaderOptions options)
    : dataset_(dataset), options_(std::move(options)), random_(options_.seed) {
  if (options_.batch < 1) {
    throw DatasetError(
        fmt::format("a batch of {} images is empty; take a --batch of 1 or more", options_.batch));
  }
  CheckPlaceable(dataset_.image_shape(), options_.image);
  if (dataset_.size() == 0) {
    throw DatasetError(fmt::format("{} has no images; give another data set", dataset_.name()));
  }
  const std::int64_t usable = options_.drop_last ? options_.batch : 1;
  if (dataset_.size() < usable) {
    throw DatasetError(
        fmt::format("{} has {} images, fewer than a batch of {}; take a smaller "
                    "--batch",
                    dataset_.name(), dataset_.size(), options_.batch));
  }
  order_.resize(static_cast<std::size_t>(dataset_.size()));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  if (options_.shuffle) Shuffle();
  slots_.resize(static_cast<std::size_t>(options_.prefetch) + 1);
  const int threads = std::min(options_.threads, options_.prefetch);
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    StopThreads();
    throw DatasetError(fmt::format(
        "{} loader threads cannot be started: {}; take fewer --loaders, or raise ulimit -u",
        threads, error.code().message()));
  }
}

BatchLoader::~BatchLoader() { StopThreads(); }

void BatchLoader::StopThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::int64_t BatchLoader::batches_per_epoch() const {
  const std::int64_t round_up = options_.drop_last ? 0 : options_.batch - 1;
  return (dataset_.size() + round_up) / options_.batch;
}

const Batch& BatchLoader::Next() {
  if (threads_.empty()) {
    Make(PlanNext(), slots_.front().batch);
    return slots_.front().batch;
  }
  std::unique_lock lock(mutex_);
  // Frees the slot of the previous batch, so that another batch can be prepared.
  if (taken_ > 0) slots_[static_cast<std::size_t>((taken_ - 1) % slots())].ready = false;
  Slot& slot = slots_[static_cast<std::size_t>(taken_ % slots())];
  ++taken_;
  changed_.notify_all();
  changed_.wait(lock, [&slot] { return slot.ready; });
  if (slot.error) {
    --taken_;  // the next call finds the same error
    std::rethrow_exception(slot.error);
  }
  return slot.batch;
}

// A loader thread: prepares the batches in their order, each in its slot once the slot is free. It
// plans them under the lock, so that any number of threads gives the same batches.
void BatchLoader::Work() {
  if (options_.on_thread_start) options_.on_thread_start();
  std::unique_lock lock(mutex_);
  for (;;) {
    // The batch in use is number taken_ - 1; its slot is not free.
    changed_.wait(lock, [this] {
      return stop_ || started_ < std::max<std::int64_t>(taken_ - 1, 0) + slots();
    });
    if (stop_) return;
    Slot& slot = slots_[static_cast<std::size_t>(started_ % slots())];
    ++started_;
    std::exception_ptr error;
    try {
      const BatchPlan plan = PlanNext();
      lock.unlock();
      Make(plan, slot.batch);
    } catch (...) {
      error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    slot.error = error;
    slot.ready = true;
    changed_.notify_all();
    if (error) return;
  }
}

// Fisher-Yates shuffle, written here because the C++ library's shuffle may differ between
// implementations.
void BatchLoader::Shuffle() {
  for (std::size_t i = order_.size() - 1; i > 0; --i) {
    std::swap(order_[i], order_[random_() % (i + 1)]);
  }
}

BatchLoader::BatchPlan BatchLoader::PlanNext() {
  BatchPlan plan;
  const auto left = static_cast<std::int64_t>(order_.size() - position_);
  plan.valid = std::min(options_.batch, left);
  plan.images.reserve(static_cast<std::size_t>(options_.batch));
  for (std::int64_t n = 0; n < options_.batch; ++n) {
    plan.images.push_back(order_[position_ + static_cast<std::size_t>(n % plan.valid)]);
  }
  const Augmentation& augmentation = options_.augmentation;
  if (augmentation.crop || augmentation.flip) plan.seed = random_();
  position_ += static_cast<std::size_t>(plan.valid);
  const std::size_t needed = options_.drop_last ? static_cast<std::size_t>(options_.batch) : 1;
  plan.last_of_epoch = order_.size() - position_ < needed;
  if (plan.last_of_epoch) {
    position_ = 0;
    if (options_.shuffle) Shuffle();
  }
  return plan;
}

void BatchLoader::Make(const BatchPlan& plan, Batch& batch) const {
  const Shape& from = dataset_.image_shape();
  const auto size = static_cast<std::size_t>(options_.image.elements());
  const Augmentation& augmentation = options_.augmentation;
  batch.images.resize(static_cast<std::size_t>(options_.batch) * size);
  batch.labels.resize(static_cast<std::size_t>(options_.batch));
  batch.valid = plan.valid;
  batch.last_of_epoch = plan.last_of_epoch;
  std::vector<float> image(static_cast<std::size_t>(from.elements()));
  std::vector<float> placed(size);
  std::mt19937_64 random(plan.seed);
  // (a slow source must not delay the destructor by a batch)
  for (std::size_t n = 0; n < plan.images.size() && !stop_; ++n) {
    const std::span<float> pixels = std::span(batch.images).subspan(n * size, size);
    dataset_.CopyImage(plan.images[n], image);
    if (augmentation.crop || augmentation.flip) {
      PlaceImage(from, image, options_.image, placed);
      ChangeImage(options_.image, placed, DrawChange(augmentation, random), pixels);
    } else {
      PlaceImage(from, image, options_.image, pixels);
    }
    if (augmentation.normalise) {
      NormaliseImage(pixels);
    } else {
      for (float& pixel : pixels) pixel -= 0.5F;
    }
    batch.labels[n] = dataset_.label(plan.images[n]);
  }
}

}  // namespace topdnn
