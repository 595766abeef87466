// Batches of a data set in the form that a network takes, the next one prepared while the last is
// used.

#ifndef TOPDNN_DATASETS_LOADER_H_
#define TOPDNN_DATASETS_LOADER_H_

#include <cstdint>
#include <future>
#include <random>
#include <vector>

#include "datasets/dataset.h"

namespace topdnn {

struct Batch {
  std::vector<float> images;         // (N, C, H, W), pixels less 0.5: in [-0.5, 0.5]
  std::vector<std::int32_t> labels;  // (N)
  // Images that are real: below N in the last batch of an epoch, which then repeats its first.
  std::int64_t valid = 0;
  bool last_of_epoch = false;
};

struct LoaderOptions {
  Shape image;  // (C, H, W) of the network
  std::int64_t batch = 1;
  std::uint64_t seed = 1;
  bool shuffle = true;    // anew each epoch
  bool drop_last = true;  // leave out an epoch's incomplete batch
  bool prefetch = true;   // on a thread of its own; false: made when asked for
};

class BatchLoader {
 public:
  // The data set must outlive the loader. Throws DatasetError when a batch or an epoch would be
  // empty or an image cannot be placed.
  BatchLoader(const Dataset& dataset, LoaderOptions options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next batch, epoch after epoch without end. The same seed gives the same batches, with and
  // without prefetching. What reading an image throws, on whichever thread, is thrown here.
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
