// Gradients in buckets: consecutive layers of the backward pass whose gradients are summed over the
// ranks by one collective operation (Li et al. 2020, "PyTorch Distributed", section 3.2).

#ifndef TOPDNN_BENCH_RANKS_BUCKETS_H_
#define TOPDNN_BENCH_RANKS_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/ranks/transport.h"

namespace topdnn {

// The gradients of a layer, in one piece of memory.
struct GradientBlock {
  std::string layer;
  float* data = nullptr;
  std::int64_t elements = 0;
  std::size_t last_stage = 0;  // the last stage of the step that writes to it
};

struct Bucket {
  std::vector<GradientBlock> blocks;  // in the order in which they are complete
  std::int64_t elements = 0;
  std::size_t last_stage = 0;

  // "dense2 dense1": the layers.
  std::string Name() const;
};

// Fills buckets of at most `most_bytes` on the wire, in the order in which the gradients are
// complete. A block is never divided, so a larger one has its own bucket.
std::vector<Bucket> MakeBuckets(std::vector<GradientBlock> blocks, std::int64_t most_bytes,
                                Wire wire);

// Copies the gradients of a bucket to `wire_memory`, in the type of the wire. Returns whether all
// of them are finite.
bool PackGradients(const Bucket& bucket, Wire wire, void* wire_memory);
// Copies the sums back, multiplied by `factor`.
void UnpackGradients(const Bucket& bucket, Wire wire, const void* wire_memory, float factor);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_BUCKETS_H_
