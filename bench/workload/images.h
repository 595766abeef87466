// Real images for a workload's steps.

#ifndef TOPDNN_BENCH_WORKLOAD_IMAGES_H_
#define TOPDNN_BENCH_WORKLOAD_IMAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "datasets/loader.h"
#include "datasets/open.h"

namespace topdnn {

// If the images of the folder are smaller than a zoo network's usual input, sets the network's size
// and classes to those of the images, unless the options give them: ResNet-18 also accepts 3x32x32.
void FitToData(WorkloadOptions& options);

bool TakesImages(const Workload& workload);

// Starts to read the folder that `--data` names, on a thread of its own, so that OpenImages need
// not wait long for it after the network is planned.
void ReadImagesAhead(const WorkloadOptions& options);

// The data sets that `--data` names, in the workload's image shape and classes. Without `--data`:
// Fashion-MNIST for images up to 64x64 and 10 classes, otherwise the synthetic source. Throws
// DatasetError, also for a network without images.
DatasetPair OpenImages(const WorkloadOptions& options, const Workload& workload);

// Copies a batch of NCHW images into the plan's f32 input, in the input's layout, and, when it
// trains, its labels.
void FeedBatch(const Plan& plan, const Batch& batch);

// Some batches of the training set, or random numbers for a network without images, read once and
// kept in the layout of the plan that they feed. Feeding a measured step then takes one copy and
// reads no file.
class TrainingImages {
 public:
  TrainingImages(const WorkloadOptions& options, const Workload& workload);

  // Copies the next batch into the plan's input and labels.
  void FillNext(const Plan& plan);
  // The next batch is that of step `step`, counted from 0.
  void GoTo(std::int64_t step) { next_ = static_cast<std::size_t>(step % batches()); }

  // The data set's name, and a remark if images repeat because it has fewer than a batch.
  const std::string& source() const { return source_; }
  std::int64_t batches() const { return static_cast<std::int64_t>(batches_.size()); }

 private:
  struct Stored {
    Batch batch;
    Layout layout;
  };

  std::string source_;
  // In the type of the network's input.
  void MakeElements(const Workload& workload);

  std::vector<Stored> batches_;
  std::size_t next_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_IMAGES_H_
