#include "bench/workload/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "bench/workload/folder_images.h"
#include "bench/workload/input_elements.h"
#include "harness/text/text.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"

namespace topdnn {

namespace {

constexpr std::int64_t kMaxSmallImage = 64;

// Small images are used only with networks of a similar input size: a 28x28 image in 224x224 would
// be almost all border.
bool TakesSmallImages(const Workload& workload) {
  return workload.classes == 10 && workload.image[1] <= kMaxSmallImage &&
         workload.image[2] <= kMaxSmallImage;
}

// Batches kept for feeding: a few, and at most this many bytes.
constexpr std::int64_t kMaxBatches = 8;
constexpr std::int64_t kMaxBytes = std::int64_t{256} << 20;

const TensorDesc& InputOf(const Plan& plan) {
  return plan.buffers()[plan.Find(BufferRole::kInput)].desc;
}

// Copies images between NCHW and NHWC, the layouts that an input may have.
void CopyImages(const Shape& shape, const Layout& from, const float* src, const Layout& to,
                float* dst) {
  if (to.SameFor(shape, from)) {
    std::memcpy(dst, src, static_cast<std::size_t>(shape.elements()) * sizeof(float));
    return;
  }
  const bool from_planes = from.IsPlainFor(shape);
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = shape[2] * shape[3];
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t image = n * channels * pixels;
      for (std::int64_t i = 0; i < pixels; ++i) {
        const std::int64_t in_planes = image + c * pixels + i;
        const std::int64_t in_pixels = image + i * channels + c;
        dst[from_planes ? in_pixels : in_planes] = src[from_planes ? in_planes : in_pixels];
      }
    }
  }
}

void Feed(const Plan& plan, const Batch& batch, const Layout& layout) {
  const TensorDesc& input = InputOf(plan);
  CopyImages(input.shape, layout, batch.images.data(), input.layout,
             static_cast<float*>(plan.Data(plan.Find(BufferRole::kInput))));
  if (!plan.Has(BufferRole::kLabels)) return;
  // A network with logits for each place of an image gets the image's label there.
  const BufferId labels = plan.Find(BufferRole::kLabels);
  const std::int64_t places = plan.buffers()[labels].desc.shape.elements() / input.shape[0];
  auto* label = static_cast<std::int32_t*>(plan.Data(labels));
  for (const std::int32_t of_image : batch.labels) {
    label = std::fill_n(label, places, of_image);
  }
}

}  // namespace

void FitToData(WorkloadOptions& options) {
  const NetworkOffer* network = FindNetwork(options.network);
  if (options.data.empty() || options.data == "synthetic" || network == nullptr) return;
  constexpr std::int64_t kImageSize = 32;  // CIFAR-10's; (Fashion-)MNIST's 28 and a border
  if (network->image[1] <= kMaxSmallImage) return;
  if (options.size == 0) options.size = kImageSize;
  if (options.classes == 0) options.classes = ClassesOf(options.data);
}

bool TakesImages(const Workload& workload) { return workload.image.rank() == 3; }

void ReadImagesAhead(const WorkloadOptions& options) {
  if (!options.data.empty() && options.data != "synthetic") ReadAhead(options.data);
}

DatasetPair OpenImages(const WorkloadOptions& options, const Workload& workload) {
  if (!TakesImages(workload)) {
    throw DatasetError(
        fmt::format("{} takes batches of {}, no images: leave --data and the input's options out",
                    workload.network, workload.image.ToString()));
  }
  const bool synthetic =
      options.data == "synthetic" || (options.data.empty() && !TakesSmallImages(workload));
  if (synthetic) {
    return OpenSynthetic(workload.image, static_cast<int>(workload.classes), options.seed);
  }
  DatasetPair pair = FolderImages(options.data.empty() ? kFashionMnistFolder : options.data);
  if (pair.train->classes() != workload.classes) {
    throw DatasetError(pair.train->name() + " has " + std::to_string(pair.train->classes()) +
                       " classes, the network " + std::to_string(workload.classes) +
                       "; give --data synthetic");
  }
  return pair;
}

void TrainingImages::MakeElements(const Workload& workload) {
  for (auto& one : batches_) {
    for (float& x : one.batch.images) {
      x = static_cast<float>(ElementOf(workload.inputs.front(), static_cast<double>(x)));
    }
  }
}

TrainingImages::TrainingImages(const WorkloadOptions& options, const Workload& workload) {
  if (!TakesImages(workload) && options.data.empty()) {
    source_ = fmt::format("numbers drawn by seed {}", options.seed);
    const auto count = static_cast<std::size_t>(workload.batch * workload.image.elements());
    const std::vector<double> values = NormalValues(options.seed, count);
    batches_.push_back({{}, Layout::Plain(workload.image.rank() + 1)});
    batches_.front().batch.images.assign(values.begin(), values.end());
    MakeElements(workload);
    return;
  }
  const DatasetPair pair = OpenImages(options, workload);
  source_ = pair.train->name();
  if (pair.train->size() < workload.batch) {
    source_ += fmt::format(" ({}, repeated to fill the batch of {})",
                           CountText(pair.train->size(), "image"), workload.batch);
  }
  BatchLoader loader(*pair.train, {.image = workload.image,
                                   .batch = workload.batch,
                                   .seed = options.seed,
                                   .shuffle = true,
                                   .drop_last = false,
                                   .prefetch = 0});
  const std::int64_t bytes = workload.batch * workload.image.elements() * 4;
  const std::int64_t count = std::clamp<std::int64_t>(
      kMaxBytes / bytes, 1, std::min(kMaxBatches, loader.batches_per_epoch()));
  for (std::int64_t i = 0; i < count; ++i) batches_.push_back({loader.Next(), Layout::Plain(4)});
  MakeElements(workload);
}

void TrainingImages::FillNext(const Plan& plan) {
  Stored& stored = batches_[next_];
  next_ = (next_ + 1) % batches_.size();
  const TensorDesc& input = InputOf(plan);
  if (!input.layout.SameFor(input.shape, stored.layout)) {
    std::vector<float> images(stored.batch.images.size());
    CopyImages(input.shape, stored.layout, stored.batch.images.data(), input.layout, images.data());
    stored.batch.images = std::move(images);
    stored.layout = input.layout;
  }
  Feed(plan, stored.batch, stored.layout);
}

void FeedBatch(const Plan& plan, const Batch& batch) {
  Feed(plan, batch, Layout::Plain(InputOf(plan).shape.rank()));
}

}  // namespace topdnn
