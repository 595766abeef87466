// The fields of a line that MKL-DNN 0.x prints with MKLDNN_VERBOSE, in the words of oneDNN:
//
//   mkldnn_verbose,exec,convolution,jit:avx2,forward_training,fsrc:nChw8c fwei:OIhw8i8o fbia:undef
//     fdst:nChw8c,alg:convolution_direct,mb1_g1ic256oc256_ih14oh14kh3sh1dh0ph1_iw14ow14...,3.59302
//
// The line names no engine and no attributes, and the element types of reorders alone: the others
// are f32, unless the implementation is one for 8-bit integers. Source: "Verbose mode" of MKL-DNN
// 0.20's guide, and src/common/verbose.cpp of that version.

#ifndef TOPDNN_BENCH_LOG_READ_MKLDNN_LINE_H_
#define TOPDNN_BENCH_LOG_READ_MKLDNN_LINE_H_

#include <string>
#include <string_view>

namespace topdnn {

inline constexpr std::string_view kMkldnnMarker = "mkldnn_verbose";

// "aBcd8b" for "nChw8c", "ABcd8b8a" for "OIhw8i8o". Empty for a format that has no such letters.
std::string LayoutOfMkldnn(std::string_view format);
// The field memory_descriptors: "src_f32::blocked:aBcd8b:f0 ...".
std::string TensorsOfMkldnn(std::string_view field, std::string_view implementation);
// The field auxiliary: the flags of a batch normalization as letters.
std::string AuxiliaryOfMkldnn(std::string_view field);
// The field problem_desc: "1x1024x14x14" for "mb1ic1024ih14iw14" of these primitives.
std::string ProblemOfMkldnn(std::string_view primitive, std::string_view field);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_MKLDNN_LINE_H_
