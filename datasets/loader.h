// Batches of a data set in the form that a network reads: decoded, augmented, and prepared by other
// threads while the current batch is in use.

#ifndef TOPDNN_DATASETS_LOADER_H_
#define TOPDNN_DATASETS_LOADER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "datasets/augmentation.h"
#include "datasets/dataset.h"

namespace topdnn {

struct Batch {
  std::vector<float> images;         // (N, C, H, W); pixels minus 0.5, or normalised
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
  // Batches prepared ahead by the loader threads. 0: Next prepares the batch itself, and there is
  // no loader thread.
  int prefetch = 1;
  int threads = 1;  // loader threads; at most `prefetch` work at once
  Augmentation augmentation = {};
  std::function<void()> on_thread_start = {};  // each loader thread calls it first
};

class BatchLoader {
 public:
  // The data set must outlive the loader. Throws DatasetError when a batch or an epoch would be
  // empty, an image cannot be placed, or a loader thread cannot be started.
  BatchLoader(const Dataset& dataset, LoaderOptions options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Returns the next batch, epoch after epoch without end. It is valid until the following call.
  // The same seed gives the same batches, for every prefetch and number of threads. Throws the
  // exceptions of reading an image. After an exception in a loader thread, the batches before
  // it are returned, and each later call throws it.
  const Batch& Next();
  std::int64_t batches_per_epoch() const;

 private:
  // Which images a batch has, and the seed of their changes.
  struct BatchPlan {
    std::vector<std::int64_t> images;
    std::int64_t valid = 0;
    bool last_of_epoch = false;
    std::uint64_t seed = 0;
  };
  // A batch in preparation. Slot i holds the batches i, i + slots, ..., one at a time.
  struct Slot {
    Batch batch;
    bool ready = false;
    std::exception_ptr error;
  };

  BatchPlan PlanNext();
  void Make(const BatchPlan& plan, Batch& batch) const;
  void Shuffle();
  void Work();
  void StopThreads();
  std::int64_t slots() const { return static_cast<std::int64_t>(slots_.size()); }

  const Dataset& dataset_;
  const LoaderOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> order_;
  std::size_t position_ = 0;

  // While loader threads run: guards the members below and the plan of the epoch (random_, order_,
  // position_). A slot's batch belongs to the loader thread that makes it until `ready`, then to
  // the caller of Next.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;   // one for the batch in use, and one for each that is prepared ahead
  std::int64_t started_ = 0;  // batches given to loader threads
  std::int64_t taken_ = 0;    // batches returned by Next
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_LOADER_H_
