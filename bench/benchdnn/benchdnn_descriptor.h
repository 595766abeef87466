// The problem of a line for benchdnn, oneDNN's benchmark program: "mb2ic3oc64_ih224oh112kh7sh2ph3".
// It is completed as benchdnn does, and written as oneDNN's log writes it, so that a line and a row
// of a log become the same problem.
//
// Sources: oneDNN's tests/benchdnn/doc/knobs_desc.md and driver_*.md, and the functions str2desc of
// tests/benchdnn/*/*_aux.cpp and sanitize_desc of tests/benchdnn/common.cpp, versions 2.6 and 3.3.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_DESCRIPTOR_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_DESCRIPTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/text/errors.h"

namespace topdnn {

// A text that benchdnn would refuse, too. The message is one line: what is wrong and the fix.
class BenchdnnError : public InputError {
 public:
  using InputError::InputError;
};

// The forms of a problem (benchdnn: descriptor), by the drivers that use them.
enum class DescriptorForm {
  kConvolution,    // gXmbX_icX_ocX, and iX oX kX sX pX dX of each spatial dimension
  kDeconvolution,  // the same; the window goes over the result
  kPooling,        // without groups and output channels
  kInnerProduct,   // mbXicX_idXihXiwX_ocX
  kBatchNorm,      // mbXicX_idXihXiwX_epsF
  kLrn,            // mbXicX_idXihXiwX_lsX_alphaF_betaF_kF
  kResampling,     // mbXicX_idXihXiwX_odXohXowX
};

struct BenchdnnDescriptor {
  std::string problem;      // as the log writes it: "mb2_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224..."
  std::string name;         // "alexnet:conv1" of n"alexnet:conv1"; or empty
  int spatial = 0;          // 1 to 3 dimensions; 0 without
  std::int64_t groups = 1;  // of a convolution or a deconvolution
};

// `minibatch`, if it is above 0, replaces the one of the text. Throws BenchdnnError.
BenchdnnDescriptor ParseDescriptor(std::string_view text, DescriptorForm form,
                                   std::int64_t minibatch);

// The shapes of "16x16x8x8:16x32x8x8"; a name after them is dropped. `minibatch`, if it is above 0,
// replaces the first extent of each shape. Throws BenchdnnError.
std::vector<std::vector<std::int64_t>> ParseShapes(std::string_view text, std::int64_t minibatch);

// A whole number from 0 to 2^30; nothing for other text.
std::optional<std::int64_t> ParseExtent(std::string_view text);

// A window along one dimension of a convolution or pooling; a dilation of 0 is a dense kernel. For
// a deconvolution, `input` is the extent of its result, over which the window moves.
struct WindowExtents {
  std::int64_t input, kernel, stride, dilation;

  std::int64_t range() const { return (kernel - 1) * (dilation + 1) + 1; }
};
// The extent of the result, with the same padding on both sides. The division rounds toward zero.
std::int64_t ResultExtent(const WindowExtents& e, std::int64_t padding);
// The leading padding for a result of extent `output`. The division rounds toward zero.
std::int64_t LeadingPadding(const WindowExtents& e, std::int64_t output);
// The extent of a deconvolution's result. `range`: WindowExtents::range().
std::int64_t TransposedExtent(std::int64_t input, std::int64_t range, std::int64_t stride,
                              std::int64_t padding);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_DESCRIPTOR_H_
