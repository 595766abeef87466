// The problem word of an operation with a sliding window (convolution, pooling): its image and its
// window, in the letters of DeepBench and MIOpen. Image n, c, h, w; window r, s; strides u and v;
// leading padding p and q; trailing padding P and Q when it differs from the leading one.

#ifndef TOPDNN_KERNELS_OP_WINDOW_PROBLEM_H_
#define TOPDNN_KERNELS_OP_WINDOW_PROBLEM_H_

#include <fmt/format.h>

#include <string>

#include "kernels/op/problem.h"

namespace topdnn {

// "r3s3u1v1p1q1", followed by "P0Q0" when the trailing padding differs from the leading one.
template <typename Extents>
std::string SpellWindow(const Extents& e) {
  std::string text =
      fmt::format("r{}s{}u{}v{}p{}q{}", e.r, e.s, e.stride_h, e.stride_w, e.pad_top, e.pad_left);
  if (e.pad_bottom != e.pad_top || e.pad_right != e.pad_left) {
    text += fmt::format("P{}Q{}", e.pad_bottom, e.pad_right);
  }
  return text;
}

// Reads image and window. Defaults: one image, square image, square window, stride 1, no padding.
// Throws ProblemError.
template <typename Extents>
Extents ReadImageAndWindow(const ProblemWord& word) {
  Extents e;
  e.n = word.FieldOr('n', 1);
  e.c = word.Field('c');
  e.h = word.Field('h');
  e.w = word.FieldOr('w', e.h);
  e.r = word.Field('r');
  e.s = word.FieldOr('s', e.r);
  e.stride_h = word.FieldOr('u', 1);
  e.stride_w = word.FieldOr('v', e.stride_h);
  e.pad_top = word.FieldOr('p', 0);
  e.pad_left = word.FieldOr('q', e.pad_top);
  e.pad_bottom = word.FieldOr('P', e.pad_top);
  e.pad_right = word.FieldOr('Q', e.pad_left);
  return e;
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_WINDOW_PROBLEM_H_
