// Reduction as loops over row-major tensors.

#ifndef TOPDNN_KERNELS_REDUCE_LOOPS_H_
#define TOPDNN_KERNELS_REDUCE_LOOPS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/kernel/range_loop.h"
#include "kernels/reduce/reduce.h"

namespace topdnn {

// Forward supports f32, backward f32 and bf16.
KernelOrRefusal MakeReduceLoops(const KernelRequest& request);

// Any algorithm, forward in f32, with results in double; each is computed by one thread.
class ReduceLoop {
 public:
  explicit ReduceLoop(const KernelRequest& request);

  std::int64_t iterations() const { return op_.dst_shape().elements(); }
  double cycles() const { return 4 * static_cast<double>(op_.count()); }
  std::array<Arg, kLoopOperands> operands() const { return {Arg::kSrc, Arg::kSrc, Arg::kDst}; }
  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const;

 private:
  struct Axis {
    std::int64_t extent, stride;
  };

  static std::int64_t PlaceOf(const std::vector<Axis>& axes, std::int64_t index);
  // Combines `count` neighbouring results, from the one of index `at`, with all their elements.
  void Combine(const ReduceDefinition& definition, const float* src, std::int64_t at,
               std::int64_t count, double shift, double* results) const;

  const ReduceOp op_;
  const ReduceDefinition& definition_;
  // src as rows of neighbouring elements that are all reduced or all kept.
  bool reduces_row_ = true;
  std::int64_t row_ = 1;
  std::vector<Axis> kept_, reduced_;  // of the rows, the last axis first
  std::int64_t reduced_rows_ = 1;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REDUCE_LOOPS_H_
