// The tensors, the attributes and the problem of a primitive, as a line of oneDNN's log describes
// them: in the notations of all versions.

#ifndef TOPDNN_BENCH_LOG_READ_TRACED_TENSOR_H_
#define TOPDNN_BENCH_LOG_READ_TRACED_TENSOR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

struct TracedTensor {
  std::string name;         // src, wei, bia, dst, data, diff, diff_src, ...
  std::string type;         // f32; undef if the primitive has no such tensor
  std::string format_kind;  // blocked, wino, ...; undef, any
  std::string layout;       // aBcd16b; empty if the format has none
  std::string strides;      // 802816x1x14336x64, of a tensor with gaps; otherwise empty
  std::string extra;        // flags other than "f0", with what follows: "f1:s8m1"; or empty
  int mask = -1;  // of a matmul's bias: bit d for dimension d; -1: its last dimension alone

  bool present() const { return type != "undef"; }
  // "src:f32:aBcd16b", followed by the strides and `extra`, if any.
  std::string Text() const;
  // The end of Text(), from the layout on. Without a layout, the kind of format takes its place.
  std::string LayoutText() const;
};

// Pure. TracedTensor::mask of a bias for which oneDNN has this mask.
int BiasMask(int mask, std::size_t rank);

// Pure. The tensors of a field "memory_descriptors", of any dialect. A word that is no tensor is
// left out.
std::vector<TracedTensor> ParseTracedTensors(std::string_view field);

// Pure. A layout's letters with two dimensions exchanged: "BAcd16a" for "ABcd16b", 'a' and 'b'.
std::string ExchangeDimensions(std::string layout, char one, char other);

// Pure. The attributes that change what a primitive computes: without the place of its scratchpad.
// The notation is that of oneDNN 3 ("attr-post-ops:sum+eltwise_relu"), for every dialect.
std::string EssentialAttributes(std::string_view field);

// Pure. The field "problem_desc" of a primitive in the notation of oneDNN 3: "16x64:64x32" for a
// matmul's "m16n32k64", which versions up to oneDNN 2.1 print.
std::string CurrentProblem(std::string_view primitive, std::string_view field);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_TRACED_TENSOR_H_
