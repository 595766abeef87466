// Rows of a log as the primitive itself: what is computed, by hand, and with oneDNN's unoptimized
// implementation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "bench/cases/problem_sets.h"
#include "bench/log/translate/traced_problem.h"
#include "kernels/check/kernel_problem.h"
#include "kernels/kernel/registry.h"
#include "tests/bench/translated_case.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

TracedProblem ProblemOfFields(const std::string& fields) {
  TraceReader reader;
  reader.Add("onednn_verbose,exec,cpu," + fields + ",0.5\n");
  const Trace trace = reader.Finish();
  auto problem = ProblemOf(trace.rows.at(0));
  EXPECT_TRUE(std::holds_alternative<TracedProblem>(problem))
      << std::get<NoProblem>(problem).reason;
  return std::get<TracedProblem>(std::move(problem));
}

// Makes oneDNN's kernel and compares it with the reference. Empty, or what is wrong.
std::string WrongOf(const TracedProblem& traced, const KernelProblem& problem) {
  const KernelRequest request =
      SettledProblem{traced.execution, traced.layouts, traced.algorithm}.RequestFor(traced.op, 1);
  auto made = KernelCase::Make("onednn", request, problem);
  if (const auto* refusal = std::get_if<Refusal>(&made)) return refusal->reason;
  const CaseCheck check = std::get<std::unique_ptr<KernelCase>>(made)->Check(problem);
  return check.agrees ? "" : check.reason;
}

// The values of the problem's inputs, and one of them.
using Inputs = std::function<double(Arg arg, std::size_t element)>;

// Expects that the result `arg` is `value` for each element, and that oneDNN's kernel agrees.
void ExpectResult(const std::string& fields, Arg arg,
                  const std::function<double(const Inputs&, std::size_t)>& value) {
  const TracedProblem traced = ProblemOfFields(fields);
  EXPECT_EQ(traced.op->kind(), "primitive") << fields;
  const KernelProblem problem(traced.op, traced.execution);
  const Inputs inputs = [&problem](Arg of, std::size_t i) { return problem.inputs().at(of).at(i); };
  bool found = false;
  for (const KernelProblem::Expected& expected : problem.expected()) {
    if (expected.arg != arg) continue;
    found = true;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      EXPECT_NEAR(expected.values[i], value(inputs, i), 1e-5) << fields << " element " << i;
    }
  }
  EXPECT_TRUE(found) << NameOf(arg);
  EXPECT_EQ(WrongOf(traced, problem), "") << fields;
}

// 2 groups of 4 channels: channel c of the result is channel (c % 2) * 4 + c / 2 of the source.
TEST(LoggedRowsTest, AShuffleTransposesGroups) {
  const auto from = [](std::size_t i) {
    const std::size_t pixels = 6, image = i / (8 * pixels), c = i / pixels % 8;
    return image * 8 * pixels + ((c % 2) * 4 + c / 2) * pixels + i % pixels;
  };
  ExpectResult(
      "shuffle,ref:any,forward_inference,data_f32::blocked:abcd:f0,,axis:1 group:4,2x8x2x3",
      Arg::kDst, [&](const Inputs& in, std::size_t i) { return in(Arg::kSrc, from(i)); });
  // The gradient goes back: 4 groups of 2.
  const auto to = [](std::size_t i) {
    const std::size_t pixels = 6, image = i / (8 * pixels), c = i / pixels % 8;
    return image * 8 * pixels + ((c % 4) * 2 + c / 4) * pixels + i % pixels;
  };
  ExpectResult("shuffle,ref:any,backward_data,data_f32::blocked:abcd:f0,,axis:1 group:4,2x8x2x3",
               Arg::kDiffSrc,
               [&](const Inputs& in, std::size_t i) { return in(Arg::kDiffDst, to(i)); });
}

TEST(LoggedRowsTest, APreluHasASlopeForEachChannel) {
  const std::string tensors = "data_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 ";
  ExpectResult("prelu,jit_uni,forward_training," + tensors +
                   "diff_undef::undef::f0 diff_wei_undef::undef::f0,,,2x3x2x2:1x3x1x1",
               Arg::kDst, [](const Inputs& in, std::size_t i) {
                 const double x = in(Arg::kSrc, i);
                 return x > 0 ? x : x * in(Arg::kWeights, i / 4 % 3);
               });
  ExpectResult("prelu,jit_uni,backward," + tensors +
                   "diff_f32::blocked:abcd:f0 diff_wei_f32::blocked:abcd:f0,,,2x3x2x2:1x3x1x1",
               Arg::kDiffWeights, [](const Inputs& in, std::size_t c) {
                 double sum = 0;
                 for (std::size_t i = 0; i < 24; ++i) {
                   if (i / 4 % 3 != c || in(Arg::kSrc, i) > 0) continue;
                   sum += in(Arg::kSrc, i) * in(Arg::kDiffDst, i);
                 }
                 return sum;
               });
}

// A 1x1 convolution of 4 channels to 3: with half of the earlier result, a factor for each channel,
// and a linear function.
TEST(LoggedRowsTest, PostOpsAreAppliedInTheirOrder) {
  const std::string tensors =
      ",forward_inference,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 bia_f32::blocked:a:f0 "
      "dst_f32::blocked:abcd:f0,attr-post-ops:";
  const std::string problem =
      " ,alg:convolution_direct,mb2_ic4oc3_ih2oh2kh1sh1dh0ph0_iw2ow2kw1sw1dw0pw0";
  const auto sum = [](const Inputs& in, std::size_t i) {
    const std::size_t c = i / 4 % 3;
    double total = in(Arg::kBias, c);
    for (std::size_t k = 0; k < 4; ++k) {
      total += in(Arg::kSrc, (i / 12 * 4 + k) * 4 + i % 4) * in(Arg::kWeights, c * 4 + k);
    }
    return total;
  };
  ExpectResult(
      "convolution,jit:x" + tensors + "sum:0.5+binary_mul:f32:2+eltwise_linear:2:1" + problem,
      Arg::kDst, [&sum](const Inputs& in, std::size_t i) {
        const double factor = in(IndexedSrc(1), i / 4 % 3);
        return 2 * ((sum(in, i) + 0.5 * in(Arg::kDst, i)) * factor) + 1;
      });
  ExpectResult(
      "convolution,jit:x" + tensors + "eltwise_relu:0.25:0:2+binary_sub:f32:15:abcd" + problem,
      Arg::kDst, [&sum](const Inputs& in, std::size_t i) {
        const double x = sum(in, i);
        return 2 * (x > 0 ? x : 0.25 * x) - in(IndexedSrc(1), i);
      });
}

TEST(LoggedRowsTest, ALayerNormalizationNormalizesTheLastDimension) {
  constexpr std::size_t kChannels = 8;
  ExpectResult(
      "layer_normalization,simple,forward_inference,data_f32::blocked:abc:f0 "
      "stats_undef::undef::f0 diff_undef::undef::f0,,flags:CH,2x3x8",
      Arg::kDst, [](const Inputs& in, std::size_t i) {
        const std::size_t row = i / kChannels * kChannels;
        double mean = 0, variance = 0;
        for (std::size_t c = 0; c < kChannels; ++c) mean += in(Arg::kSrc, row + c) / kChannels;
        for (std::size_t c = 0; c < kChannels; ++c) {
          variance += std::pow(in(Arg::kSrc, row + c) - mean, 2) / kChannels;
        }
        const double normal = (in(Arg::kSrc, i) - mean) / std::sqrt(variance + 1e-5);
        return normal * in(Arg::kScale, i - row) + in(Arg::kShift, i - row);
      });
}

// Each attribute, normalization, PReLU and shuffle of oneDNN 2.6 (traces/README.md).
TEST(LoggedRowsTest, EveryRowOfALogAgreesWithTheReference) {
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/bench/traces/onednn2-primitives.log");
  std::stringstream text;
  text << file.rdbuf();
  TraceReader reader;
  reader.Add(text.str());
  const Trace trace = reader.Finish();
  EXPECT_EQ(trace.rows.size(), 42U);
  for (const TraceRow& row : trace.rows) {
    const auto translated = ProblemOf(row);
    ASSERT_TRUE(std::holds_alternative<TracedProblem>(translated))
        << row.primitive << " " << row.attributes << " " << std::get<NoProblem>(translated).reason;
    const auto& traced = std::get<TracedProblem>(translated);
    const KernelRequest request =
        SettledProblem{traced.execution, traced.layouts, traced.algorithm}.RequestFor(traced.op, 1);
    if (traced.execution.type == DataType::kBF16 &&
        std::holds_alternative<Refusal>(MakeKernel("onednn", request))) {
      continue;  // this CPU has no bf16
    }
    EXPECT_EQ(WrongOf(traced, KernelProblem(traced.op, traced.execution)), "")
        << row.primitive << " " << row.prop_kind << " " << row.attributes;
  }
}

// Worked out by hand.
TEST(LoggedRowsTest, ProductsAreCounted) {
  const auto flops = [](const std::string& fields, Pass pass = Pass::kForward) {
    return ProblemOfFields(fields).op->WorkOf(pass, DataType::kF32).flops;
  };
  // Each of the 2 x 32 x 14 x 14 elements of src meets 16 x 2 x 2 weights. (The bias adds no
  // product.)
  EXPECT_EQ(flops("deconvolution,jit:x,forward_training,src_f32::blocked:abcd:f0 "
                  "wei_f32::blocked:abcd:f0 bia_f32::blocked:a:f0 dst_f32::blocked:abcd:f0,,"
                  "alg:deconvolution_direct,"
                  "mb2_ic32oc16_ih14oh28kh2sh2dh0ph0_iw14ow28kw2sw2dw0pw0"),
            2 * (2 * 32 * 14 * 14) * (16 * 2 * 2));
  EXPECT_EQ(flops("inner_product,jit:x,forward_inference,src_f32::blocked:abc:f0 "
                  "wei_f32::blocked:abc:f0 bia_undef::undef::f0 dst_f32::blocked:ab:f0,,,"
                  "mb2ic16iw8oc4"),
            2 * 2 * 4 * (16 * 8));
  // 1x1 to 32 channels, a function, and a 3x3 window for each result.
  EXPECT_EQ(flops("convolution,jit:x,forward_inference,src_f32::blocked:abcd:f0 "
                  "wei_f32::blocked:abcd:f0 bia_undef::undef::f0 dst_f32::blocked:abcd:f0,"
                  "attr-post-ops:eltwise_tanh+dw:k3s1p1,alg:convolution_direct,"
                  "mb1_ic16oc32_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0"),
            (2 * 16 + 1 + 2 * 9) * 32 * 56 * 56);
}

// A stride of 2 halves the rows of the 1x1 convolution. oneDNN 2 logs the halved ones, and oneDNN 3
// those before it, with the tensors of the depthwise convolution (init_info_convolution() of its
// src/common/verbose.cpp); benchdnn has those before it, too.
TEST(LoggedRowsTest, ADepthwisePostOpHalvesTheResult) {
  const auto fields = [](const std::string& bias, const std::string& fused, int out,
                         const std::string& type = "f32") {
    const std::string number = std::to_string(out);
    return "convolution,jit_1x1_dw:avx512_core,forward_inference,src:f32::blocked:acdb::f0 "
           "wei:f32:a:blocked:Acdb32a::f0 bia:" +
           bias + " " + fused + "dst:" + type +
           "::blocked:acdb::f0,attr-post-ops:dw:k3s2p1,alg:convolution_direct,"
           "mb2_ic64oc32_ih15oh" +
           number + "kh1sh1dh0ph0_iw15ow" + number + "kw1sw1dw0pw0";
  };
  const std::string none = "undef::undef:::", present = "f32::blocked:a::f0";
  const std::string tensors = "src_fused:f32:a:blocked:acdb::f0 wei_fused:f32::blocked:abcde::f0 ";
  // Whether the 1x1 convolution and the depthwise one have a bias.
  const auto biases = [](const std::string& text) {
    const TracedProblem traced = ProblemOfFields(text);
    EXPECT_EQ(traced.op->Find(traced.execution, Arg::kDst).value().shape, (Shape{2, 32, 8, 8}));
    // 1x1 to 15x15 pixels, and a window of 3x3 for each of 8x8.
    EXPECT_EQ(traced.op->WorkOf(Pass::kForward, DataType::kF32).macs,
              2 * 32 * (64 * 15 * 15 + 9 * 8 * 8));
    return std::pair(traced.op->Find(traced.execution, Arg::kBias).has_value(),
                     traced.op->Find(traced.execution, {Arg::kBias, 0}).has_value());
  };
  EXPECT_EQ(biases(fields(none, "", 8)), std::pair(false, false));
  EXPECT_EQ(biases(fields(present, "", 8)), std::pair(true, true));
  EXPECT_EQ(biases(fields(none, "", 15)), std::pair(false, false));  // of benchdnn
  EXPECT_EQ(biases(fields(present, tensors + "bia_fused:" + none + " ", 15)),
            std::pair(true, false));
  EXPECT_EQ(biases(fields(none, tensors + "bia_fused:" + present + " ", 15)),
            std::pair(false, true));
  EXPECT_THAT(TranslateFields(fields(none, "", 7)), HasSubstr("no post-op dw"));
  EXPECT_EQ(TranslateFields(fields(none, "", 7)).find("primitive/"), std::string::npos);
  EXPECT_EQ(TranslateFields(fields(none, tensors, 15, "u8")).find("primitive/"), std::string::npos);
}

// 4 images of 115 million multiply-accumulates: the reference computes one.
TEST(LoggedRowsTest, OfALargeRowTheFirstImageIsChecked) {
  const TracedProblem traced = ProblemOfFields(
      "convolution,jit:x,forward_inference,src_f32::blocked:acdb:f0 wei_f32::blocked:abcd:f0 "
      "bia_f32::blocked:a:f0 dst_f32::blocked:acdb:f0,attr-post-ops:binary_mul:f32:15:acdb ,"
      "alg:convolution_direct,mb4_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1");
  EXPECT_EQ(traced.op->WorkOf(Pass::kForward, DataType::kF32).macs,
            std::int64_t{4} * 64 * 64 * 9 * 56 * 56);
  const KernelProblem problem(traced.op, traced.execution);
  ASSERT_EQ(problem.expected().size(), 1U);
  EXPECT_EQ(problem.expected()[0].values.size(), 64U * 56 * 56);
  EXPECT_EQ(WrongOf(traced, problem), "");
}

TEST(LoggedRowsTest, WhatIsNotKnownHasAReason) {
  const auto with = [](const std::string& attributes) {
    return TranslateFields(
        "convolution,jit:x,forward_inference,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 "
        "bia_undef::undef::f0 dst_f32::blocked:abcd:f0," +
        attributes + ",alg:convolution_direct,mb2_ic4oc3_ih8oh8kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0");
  };
  for (const char* const attributes :
       {"attr-fpmath:bf16", "attr-post-ops:binary_add:f32", "attr-post-ops:binary_add:f99:2",
        "attr-post-ops:dw:k5s1p2", "attr-post-ops:prelu", "attr-scales:src:common:2",
        "attr-zero-points:there:0:1", "attr-post-ops:eltwise_relu:x"}) {
    EXPECT_EQ(with(attributes).find("primitive/"), std::string::npos) << attributes;
  }
  EXPECT_EQ(with("attr-post-ops:dw").find("primitive/"), std::string::npos);
  EXPECT_EQ(TranslateFields("eltwise,jit:x,forward_inference,data_f32::blocked:abcd:f0,"
                            "attr-post-ops:dw:k3s1p1,alg:eltwise_relu alpha:0 beta:0,2x4x8x8")
                .find("primitive/"),
            std::string::npos);
  // 7 windows of 8 rows, one by one: the last row has none.
  EXPECT_EQ(
      TranslateFields("convolution,jit:x,forward_inference,src_f32::blocked:abcd:f0 "
                      "wei_f32::blocked:abcd:f0 bia_undef::undef::f0 dst_f32::blocked:abcd:f0,"
                      "attr-post-ops:sum:0.5,alg:convolution_direct,"
                      "mb2_ic4oc3_ih8oh7kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0")
          .find("primitive/"),
      std::string::npos);
  EXPECT_THAT(with("attr-scales:src:0:f32+wei:1:f32 attr-post-ops:eltwise_relu"),
              HasSubstr("primitive/convolution"));
  EXPECT_THAT(TranslateFields("shuffle,ref:any,forward_inference,data_f32::blocked:abcd:f0,,"
                              "axis:1 group:4,2x8x0x3"),
              HasSubstr("not a shape"));
  EXPECT_THAT(TranslateFields("shuffle,ref:any,forward_inference,data_f32::blocked:abc:f0,,"
                              "axis:1 group:4,2x8x2x3"),
              HasSubstr("has other dimensions"));
  const std::string many =
      "2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2";
  EXPECT_THAT(TranslateFields("shuffle,ref:any,forward_inference,data_f32::any:any:f0,,"
                              "axis:1 group:2," +
                              many),
              HasSubstr("more dimensions"));
}

// The mask of a bias says which dimensions it has: 2 for one number a column, 3 for one a result.
TEST(LoggedRowsTest, ABiasHasTheDimensionsOfItsMask) {
  const auto bias_of = [](const std::string& mask) {
    const TracedProblem traced = ProblemOfFields(
        "matmul,x,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 bia_f32::blocked:ab:f0" +
        mask + " dst_f32::blocked:ab:f0,attr-post-ops:eltwise_tanh ,,4x8:8x16");
    return traced.op->Find(traced.execution, Arg::kBias).value().shape;
  };
  EXPECT_EQ(bias_of(""), (Shape{1, 16}));
  EXPECT_EQ(bias_of("_mask2"), (Shape{1, 16}));
  EXPECT_EQ(bias_of("_mask1"), (Shape{4, 1}));
  EXPECT_EQ(bias_of("_mask3"), (Shape{4, 16}));
}

}  // namespace
}  // namespace topdnn
