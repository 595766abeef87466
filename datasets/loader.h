// Batches of a data set in the form that a network reads. The next batch is prepared while the
// current one is in use.

#ifndef TOPDNN_DATASETS_LOADER_H_
#define TOPDNN_DATASETS_LOADER_H_

#include <cstdint>
#include <future>
#include <random>
#include <vector>

#include "datasets/dataset.h"

namespace topdnn {

struct Batch {
  std::vector<float> images;         // (N, C, H, W), pixels minus 0.5, in [-0.5, 0.5]
  std::vector<std::int32_t> labels;  // (N)
  // Number of real images. It is below N only in the last batch of an epoch, which then repeats its
  // real images to fill the rest.
  std::int64_t valid = 0;
  bool last_of_epoch = false;
};

struct LoaderOptions {
  Shape image;  // (C, H, W) of the network
  std::int64_t batch = 1;
  std::uint64_t seed = 1;
  bool shuffle = true;    // in a new order each epoch
  bool drop_last = true;  // leave out the incomplete last batch of an epoch
  bool prefetch = true;   // prepare the next batch on another thread; false: prepare it in Next
};

class BatchLoader {
 public:
  // The data set must outlive the loader. Throws DatasetError when a batch or an epoch would be
  // empty or an image cannot be placed.
  BatchLoader(const Dataset& dataset, LoaderOptions options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Returns the next batch, epoch after epoch without end. The same seed gives the same batches,
  // with and without prefetching. Throws the exceptions of reading an image, also those from the
  // prefetching thread.
  Batch Next();
  std::int64_t batches_per_epoch() const;

 private:
  Batch Make();
  void Shuffle();

  const Dataset& dataset_;
  const LoaderOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> order_;
  std::size_t position_ = 0;
  std::future<Batch> next_;
};

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_LOADER_H_
