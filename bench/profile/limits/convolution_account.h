// Compares the floating-point operations that convolutions executed with their definition. Two
// things explain most of the difference: kernels skip taps on padding, and the definition does not
// count the epilogue.

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_CONVOLUTION_ACCOUNT_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_CONVOLUTION_ACCOUNT_H_

#include <span>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"

namespace topdnn {

struct CountedConvolution {
  const ConvOp* op;
  Execution execution;
  double executed;  // FLOPs
};

// The sum over the convolutions of a pass; all in FLOPs.
struct ConvolutionAccount {
  int convolutions = 0;
  int skipping = 0;     // convolutions that skip the taps on padding
  double defined = 0;   // 2 x the multiply-accumulates
  double left_out = 0;  // part of `defined` on padding, skipped
  double epilogue = 0;  // additions of biases and shortcuts, comparisons of ReLUs
  double executed = 0;
  // Padded channels, masked lanes and partial sums; negative where Winograd saves.
  double rest() const { return executed - (defined - left_out + epilogue); }
};

// Sums over the convolutions of this pass. A kernel is assumed to skip the padding if its count is
// nearer to the definition without padding.
ConvolutionAccount AccountFor(std::span<const CountedConvolution> convolutions, Pass pass);

// One sentence for each pass that has convolutions.
std::vector<std::string> ConvolutionNotes(std::span<const CountedConvolution> convolutions);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_CONVOLUTION_ACCOUNT_H_
