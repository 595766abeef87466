#include "datasets/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace topdnn {

BatchLoader::BatchLoader(const Dataset& dataset, LoaderOptions options)
    : dataset_(dataset), options_(std::move(options)), random_(options_.seed) {
  if (options_.batch < 1) {
    throw DatasetError(
        fmt::format("a batch of {} images is empty; take a --batch of 1 or more", options_.batch));
  }
  CheckPlaceable(dataset_.image_shape(), options_.image);
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
}

// Waits for a prefetch in progress, because it reads the data set.
BatchLoader::~BatchLoader() {
  if (next_.valid()) next_.wait();
}

std::int64_t BatchLoader::batches_per_epoch() const {
  const std::int64_t round_up = options_.drop_last ? 0 : options_.batch - 1;
  return (dataset_.size() + round_up) / options_.batch;
}

Batch BatchLoader::Next() {
  if (!options_.prefetch) return Make();
  Batch batch = next_.valid() ? next_.get() : Make();
  next_ = std::async(std::launch::async, [this] { return Make(); });
  return batch;
}

// Fisher-Yates shuffle, written here because the C++ library's shuffle may differ between
// implementations.
void BatchLoader::Shuffle() {
  for (std::size_t i = order_.size() - 1; i > 0; --i) {
    std::swap(order_[i], order_[random_() % (i + 1)]);
  }
}

Batch BatchLoader::Make() {
  const Shape& from = dataset_.image_shape();
  const std::int64_t size = options_.image.elements();
  Batch batch;
  batch.images.resize(static_cast<std::size_t>(options_.batch * size));
  batch.labels.resize(static_cast<std::size_t>(options_.batch));
  std::vector<float> image(static_cast<std::size_t>(from.elements()));
  const auto left = static_cast<std::int64_t>(order_.size() - position_);
  batch.valid = std::min(options_.batch, left);
  for (std::int64_t n = 0; n < options_.batch; ++n) {
    const std::int64_t index = order_[position_ + static_cast<std::size_t>(n % batch.valid)];
    dataset_.CopyImage(index, image);
    PlaceImage(from, image, options_.image,
               std::span(batch.images)
                   .subspan(static_cast<std::size_t>(n * size), static_cast<std::size_t>(size)));
    batch.labels[static_cast<std::size_t>(n)] = dataset_.label(index);
  }
  for (float& pixel : batch.images) pixel -= 0.5F;
  position_ += static_cast<std::size_t>(batch.valid);
  const std::size_t needed = options_.drop_last ? static_cast<std::size_t>(options_.batch) : 1;
  batch.last_of_epoch = order_.size() - position_ < needed;
  if (batch.last_of_epoch) {
    position_ = 0;
    if (options_.shuffle) Shuffle();
  }
  return batch;
}

}  // namespace topdnn
