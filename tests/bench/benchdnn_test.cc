// Lines and batch files for benchdnn as problems of topdnn's kernels, and rows of logs as lines.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "bench/benchdnn/benchdnn_batch.h"
#include "bench/benchdnn/benchdnn_line.h"
#include "bench/cases/problem_sets.h"
#include "bench/command_line/command.h"
#include "bench/log/translate/traced_problem.h"
#include "kernels/op/problem.h"
#include "kernels/reduce/reduce.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// "conv/n2... forward type=f32 mode=train src=abcd", or the reason.
std::string Translated(const TraceRow& row) {
  const auto result = ProblemOf(row);
  if (const auto* none = std::get_if<NoProblem>(&result)) return none->reason;
  const auto& problem = std::get<TracedProblem>(result);
  const std::string words =
      SettledProblem{problem.execution, problem.layouts, problem.algorithm}.Words();
  const std::string text = fmt::format("{}/{} {} {}", problem.op->kind(), problem.op->Problem(),
                                       NameOf(problem.execution.pass), words);
  return problem.logged_reason.empty() ? text : text + " " + problem.logged_reason;
}

using Files = std::map<std::string, std::string>;

std::vector<TraceRow> Rows(const std::string& text, const Files& files = {},
                           const std::string& path = "") {
  return ParseBenchdnnText(text, path.empty() ? "given" : path, !path.empty(),
                           [&files](const std::string& name) {
                             const auto found = files.find(name);
                             if (found == files.end()) throw UsageError(name + ": no such file");
                             return found->second;
                           });
}

std::vector<std::string> All(const std::string& text, const Files& files = {},
                             const std::string& path = "") {
  std::vector<std::string> problems;
  for (const TraceRow& row : Rows(text, files, path)) problems.push_back(Translated(row));
  return problems;
}

std::string One(const std::string& text) {
  const std::vector<std::string> problems = All(text);
  EXPECT_EQ(problems.size(), 1u) << text;
  return problems.empty() ? "" : problems.front();
}

struct Vector {
  std::string line, problem;
};

// Problems of benchdnn's input files and pages (oneDNN's tests/benchdnn/inputs/conv/shapes_tails
// and shapes_basic, inputs/pool/shapes_2d, doc/driver_*.md; version 2.6), and their extents by
// hand.
const Vector kVectors[] = {
    // 13 rows, a kernel of 3, 12 results: 11 + 3 - 13 = 1 row of padding below. A bias by default.
    {"--conv ic32oc13_ih13oh12kh3ph0_n\"tails_conv:1\"",
     "conv/n2c32h13w13k13r3s3u1v1p0q0P1Q1_bias forward type=f32 mode=train bias=a"},
    // (84 - 8) / 4 + 1 = 20
    {"--conv --dir=FWD_I g1ic4ih84oc16oh20kh8sh4ph0_n\"tails_conv:23\"",
     "conv/n2c4h84w84k16r8s8u4v4p0q0 forward type=f32 mode=infer"},
    // 119 * 2 + 3 - 240 - 1 = 0 rows of padding below
    {"--conv --dir=BWD_D g64ic512oc512_ih240oh120kh3sh2dh0ph1_n\"tails_conv:21\"",
     "conv/n2c512h240w240k512r3s3u2v2p1q1P0Q0g64 backward_data type=f32 mode=train"},
    {"--conv --dir=BWD_WB g1ic17oc17_ih8oh4kh3ph1sh2_n\"2d_conv:3x3_stride_tail\"",
     "conv/n2c17h8w8k17r3s3u2v2p1q1P0Q0_bias backward_weights type=f32 mode=train diff_bias=a"},
    // (227 - 11) / 4 + 1 = 55
    {"--conv --mb=4 --dir=FWD_D --cfg=f32 "
     "ic3ih227iw227_oc96oh55ow55_kh11kw11_sh4sw4ph0pw0_n\"a:1\"",
     "conv/n4c3h227w227k96r11s11u4v4p0q0 forward type=f32 mode=train"},
    // A kernel of 3 x 4. One row of padding below would give (60 - 3 + 2) / 2 + 1 = 30 rows, one
    // less than given, so there are 30 * 2 + 3 - 60 - 1 = 2. At the right: 30 * 2 + 4 - 60 - 1 = 3.
    {"--pool mb4ic23_ih60iw60_oh31ow31_kh3kw4_sh2sw2_ph1pw1",
     "pool/maxn4c23h60w60r3s4u2v2p1q1P2Q3 forward type=f32 mode=train src=abcd dst=abcd"},
    // No padding is given: ((32 - 1) * 1 - 32 + 3) / 2 = 1
    {"--pool --alg=avg_np mb2ic16_ih32oh32_kh3",
     "pool/averagen2c16h32w32r3s3u1v1p1q1 forward type=f32 mode=train src=abcd dst=abcd"},
    // Volumes and sequences; padding and stride at their defaults describe no dimension.
    {"--conv --dir=FWD_D g17mb16ic17id5oc17od5kd3pd1",
     "conv_nd/16x17x5x5x5_to17_groups17_kernel3x3x3_stride1x1x1_dilation1x1x1_before1x1x1_"
     "after1x1x1 forward type=f32 mode=train"},
    {"--conv --dir=BWD_D ic20oc32_iw13kw1pw0_sh1ph0dh0",
     "conv_nd/2x20x13_to32_groups1_kernel1_stride1_dilation1_before0_after0 backward_data "},
    // 2 * 2 + 5 - 2 = 7 rows; 3 columns of kernel 2 give 2 + 2 = 4.
    {"--deconv --dir=FWD_D --stag=axb --wtag=oihw ic3oc4_ih3iw3_kh5kw2_sh2sw1_ph1pw0",
     "conv_transpose/2x4x7x4_to3_groups1_kernel5x2_stride2x1_dilation1x1_before1x0_after1x0 "
     "forward type=f32 mode=train src=acdb weights=bacd"},
    // No padding is given: (2 * 2 + 3 - 5) / 2 = 1
    {"--deconv --dir=BWD_W ic3oc4_ih3oh5kh3sh2",
     "conv_transpose/2x4x5x5_to3_groups1_kernel3x3_stride2x2_dilation1x1_before1x1_after1x1 "
     "backward_weights type=f32 mode=train"},
    {"--ip mb112ic2048_ih1iw1_oc1000_n\"resnet:ip1\"",
     "inner_product/n112c2048h1w1k1000_bias forward type=f32 mode=train bias=a"},
    {"--lrn mb256ic96_ih55n\"alexnet:norm1\"", "lrn/256x96x55x55_size5_alpha0.00012207031 forward"},
    {"--bnorm --flags=SR mb96_ic192_ih71iw71_n\"googlenet_v3:conv_4_4_batchnorm\"",
     "batchnorm/96x192x71x71_relu forward type=f32 mode=train src=abcd dst=abcd"},
    {"--resampling mb96ic768_ih17oh34",
     "interpolate/nearest96x768x17x17_to96x768x34x34_scale1x1x2x2_half_preferfloor forward"},
    {"--resampling --alg=linear --tag=axb mb2ic16_id17od34",
     "interpolate/linear2x16x17x17x17_to2x16x34x34x34_scale1x1x2x2x2_half forward type=f32 "
     "mode=train src=acdeb dst=acdeb"},
    {"--matmul --wtag=ba 10x30:30x20",
     "gemm/m10n20k30_tb forward type=f32 mode=train src=ab weights=ab dst=ab"},
    {"--eltwise --dir=BWD_D --tag=nChw16c 50x192x55x55",
     "relu/50x192x55x55 backward_data type=f32 mode=train dst=aBcd16b diff_src=aBcd16b "
     "diff_dst=aBcd16b"},
    {"--eltwise --dir=FWD_I --alg=gelu_erf --dt=bf16 --tag=axb 50x192x55x55",
     "unary/gelu50x192x55x55 forward type=bf16 mode=infer src=acdb dst=acdb"},
    {"--eltwise --alg=elu --alpha=0.5 8x7", "unary/elu8x7_alpha0.5 forward type=f32 mode=train"},
    {"--softmax --dir=FWD_D --stag=nc --axis=1 256x1000", "softmax/n256k1000 forward type=f32"},
    {"--concat --stag=nChw16c:nChw16c --dtag=undef 16x16x16x16:16x32x16x16",
     "concat/16x48x16x16_axis1_parts16x32 forward type=f32 mode=train src_0=aBcd16b src_1=aBcd16b "
     "dst=aBcd16b"},
    {"--sum --sdt=f32:f32:f32 --stag=nhwc 16x16x3x5",
     "add/16x16x3x5_of3 forward type=f32 mode=train src_0=acdb src_1=acdb src_2=acdb dst=acdb"},
    {"--binary --alg=MUL 8x7x6:8x7",
     "binary/mul8x7x6_by8x7x1 forward type=f32 mode=train src_0=abc src_1=abc"},
    {"--binary --alg=ne --stag=axb:abx 8x7x6x5:1x7",
     "binary/not_equal8x7x6x5_by1x7x1x1 forward type=f32 mode=train src_0=acdb src_1=abcd"},
    {"--binary 8x7x6:1x7", "bias/8x7x6 forward type=f32 mode=train src=abc bias=a"},
    {"--reduction --alg=mean 2x16x8x8:2x16x1x1", "reduce/mean2x16x8x8_cd_keep forward"},
    {"--reduction --alg=norm_lp_sum --p=2 2x16x8x8:2x1x8x8", "reduce/l22x16x8x8_b_keep forward"},
    {"--reduction --alg=norm_lp_power_p_sum 2x16:2x1", "reduce/l12x16_b_keep forward"},
    {"--reorder --stag=hwio --dtag=OIhw4i16o4i 32x32x3x3",
     "reorder/32x32x3x3_fromf32_tof32 forward type=f32 mode=train src=cdba dst=ABcd4b16a4b"},
};

TEST(BenchdnnTest, PublishedProblemsHaveTheExtentsOfTheirDescriptors) {
  for (const Vector& one : kVectors) {
    EXPECT_THAT(One(one.line), StartsWith(one.problem)) << one.line;
  }
}

// (224 - 7 + 2 * 3) / 2 + 1 = 112; 111 * 2 + 7 - 224 - 3 = 2 rows below. A dilation of 1 widens a
// kernel of 3 to 5 rows: 9 - 5 + 1 = 5.
TEST(BenchdnnTest, AResultThatIsLeftOutIsComputed) {
  EXPECT_THAT(One("--conv --dir=FWD_I mb1ic3oc64_ih224kh7sh2ph3"),
              StartsWith("conv/n1c3h224w224k64r7s7u2v2p3q3P2Q2 "));
  EXPECT_THAT(One("--conv --dir=FWD_I ic16oc16ih9kh3dh1"),
              StartsWith("conv/n2c16h9w9k16r3s3u1v1p0q0d2e2 "));
}

TEST(BenchdnnTest, BothDialectsGiveTypesAndPostOps) {
  const std::string problem = " ic32oc32_ih13oh13kh3ph1";
  const std::string integers = "conv/n2c32h13w13k32r3s3u1v1p1q1 forward type=u8 mode=infer";
  EXPECT_EQ(One("--conv --dir=FWD_D --cfg=u8s8s32" + problem), integers);
  EXPECT_EQ(One("--conv --dir=FWD_D --dt=u8:s8:s32" + problem), integers);
  const std::string fused =
      "conv/n2c32h13w13k32r3s3u1v1p1q1_sum_relu forward type=bf16 mode=infer src=acdb dst=acdb";
  const std::string tags = " --dir=FWD_I --stag=nhwc --dtag=axb";
  EXPECT_EQ(One("--conv --cfg=bf16bf16bf16 --attr-post-ops='sum;relu'" + tags + problem), fused);
  EXPECT_EQ(One("--conv --dt=bf16 --attr-post-ops=sum+relu" + tags + problem), fused);
  EXPECT_EQ(One("--conv --dt=bf16 --attr=post_ops='sum;relu'" + tags + problem), fused);
  EXPECT_EQ(One("--conv --dir=FWD_I --cfg=f32_wino" + problem),
            "conv/n2c32h13w13k32r3s3u1v1p1q1 forward type=f32 mode=infer algorithm=winograd");
}

TEST(BenchdnnTest, AFunctionOfAConvolutionIsAPostOp) {
  const auto written = [](const std::string& flags) {
    const TracedProblem problem{.op = ParseProblem("conv/n1c8h5w5k8r3s3u1v1p1q1" + flags),
                                .execution = {.pass = Pass::kForward, .training = false},
                                .layouts = {},
                                .algorithm = ""};
    const BenchdnnLine line = BenchdnnLineOf(RowOf(problem));
    return line.text.empty() ? line.reason : line.text;
  };
  EXPECT_THAT(written("_sum_swish"), HasSubstr("--attr-post-ops=sum+swish:1 "));
  EXPECT_THAT(written("_gelutanh"), HasSubstr("--attr-post-ops=gelu_tanh "));
  EXPECT_THAT(One(written("_leakyrelu")), HasSubstr("_leakyrelu "));
}

TEST(BenchdnnTest, WhatCannotBeMeasuredHasAReason) {
  const auto reason = [](const std::string& options) {
    return One("--conv " + options + " ic32oc32_ih13oh13kh3ph1");
  };
  EXPECT_THAT(reason("--attr-scales=src:common:2"), HasSubstr("no attr-scales:src:common:2"));
  EXPECT_THAT(reason("--attr-oscale=common:2.25"), HasSubstr("no attr-oscale:common:2.25"));
  EXPECT_THAT(reason("--attr-post-ops=relu:0.5"), HasSubstr("no post-op eltwise_relu"));
  EXPECT_THAT(reason("--dir=BWD_D --attr-post-ops=relu"), HasSubstr("no post-ops"));
  EXPECT_THAT(reason("--cfg=u8s8u8"), HasSubstr("dst is u8"));
  EXPECT_THAT(reason("--engine=gpu"), HasSubstr("engine gpu"));
  EXPECT_THAT(One("--conv ic20oc32_iw13kw1pw0"), HasSubstr("sequences and volumes has no bias"));
  EXPECT_THAT(One("--deconv mb1ic3oc4ih3oh4kh2"), HasSubstr("deconvolution has no bias"));
  EXPECT_THAT(One("--deconv --dir=FWD_I --alg=WINO mb1ic3oc4ih3oh4kh2"), HasSubstr("no Winograd"));
  EXPECT_THAT(One("--shuffle --group=anything 2x4"), HasSubstr("no kernels for shuffle"));
  EXPECT_THAT(One("--matmul --wtag=any 10x30:30x20"), HasSubstr("wei in the format any"));
  EXPECT_THAT(One("--matmul --bia_dt=f32 10x30:30x20"), HasSubstr("no bias"));
  EXPECT_THAT(One("--matmul --runtime_dims_masks=3:3 10x30:30x20"),
              HasSubstr("runtime_dims_masks"));
  EXPECT_THAT(One("--pool --dt=u8 --dir=FWD_I --alg=avg_p ic2ih4kh2"), HasSubstr("rounds u8"));
  EXPECT_THAT(One("--sum --scales=2:4 2x2"), HasSubstr("scales:2:4"));
  EXPECT_THAT(One("--binary --alg=SELECT 2x2x2:2x2x2"), HasSubstr("no binary_select"));
}

TEST(BenchdnnTest, ListsAreCombinedAndOptionsStayInForce) {
  EXPECT_THAT(All("--pool --dir=FWD_I,BWD_D --tag=abx,axb ic2ih4kh2 # and again\n"
                  "--tag=aBx8b ic8ih4kh2 --reset ic2ih4kh2"),
              ElementsAre(AllOf(HasSubstr(" forward"), HasSubstr("src=abcd")),
                          AllOf(HasSubstr("backward_data"), HasSubstr("=abcd")),
                          AllOf(HasSubstr(" forward"), HasSubstr("src=acdb")),
                          AllOf(HasSubstr("backward_data"), HasSubstr("=acdb")),
                          AllOf(HasSubstr(" forward"), HasSubstr("c8"), HasSubstr("src=aBcd8b")),
                          AllOf(HasSubstr("backward_data"), HasSubstr("=aBcd8b")),
                          HasSubstr("mode=train src=abcd")));
  // A driver begins with its defaults: a line that benchdnn prints can be joined with others.
  EXPECT_THAT(All("--ip --dir=FWD_I ic4oc4\n--ip ic4oc4"),
              ElementsAre(HasSubstr("k4 forward"), HasSubstr("k4_bias forward")));
  // An empty value in a list, and a value that continues on the next line.
  EXPECT_THAT(All("--ip --dir=FWD_I --attr-post-ops=, \\\n   relu ic4oc4"),
              ElementsAre(HasSubstr("k4 "), HasSubstr("k4_relu ")));
  EXPECT_THAT(All("--ip --dir=FWD_I --match=.*oc[45]$ ic4oc3 ic4oc4 ic4oc5"),
              ElementsAre(HasSubstr("k4 "), HasSubstr("k5 ")));
}

TEST(BenchdnnTest, AFileIncludesFilesOfItsFolderWhichNamesTheDriver) {
  const Files files = {{"in/ip/shapes", "# two\nic4oc4\n\nic4oc5n\"x\"\n"}};
  EXPECT_THAT(All("--dir=FWD_I --mb=1,0 --batch=shapes", files, "in/ip/test_ip"),
              ElementsAre(HasSubstr("n1c4k4"), HasSubstr("n2c4k4"), HasSubstr("n1c4k5"),
                          HasSubstr("n2c4k5")));
  EXPECT_TRUE(IsBenchdnnText("# shapes\nic3oc4_ih8kh3n\"a/b\""));
  EXPECT_TRUE(IsBenchdnnText("--reset"));
  EXPECT_TRUE(IsBenchdnnText("10x30:30x20"));
  EXPECT_FALSE(IsBenchdnnText("# one\nconv/n2c16h28w28k32r3s3u1v1p1q1 x3"));
  EXPECT_FALSE(IsBenchdnnText("passes: forward"));
  EXPECT_FALSE(IsBenchdnnText(""));
}

TEST(BenchdnnTest, BadInputIsOneLineWithItsPlace) {
  const Files files = {
      {"d/bad", "\nic4oc4 nonsense"}, {"d/self", "--batch=self"}, {"d/empty", "#"}};
  const auto message = [&files](const std::string& text, const std::string& path = "") {
    try {
      Rows(text, files, path);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Vector kBad[] = {
      {"--cov ic3oc4ih3kh1", "given, line 1: --cov is no driver of benchdnn; did you mean --conv?"},
      {"ic3oc4ih3kh1", "line 1: the problem 'ic3oc4ih3kh1' has no driver; write --conv"},
      {"--dir=FWD_D", "the option --dir has no driver"},
      {"\n\n--conv --dirr=FWD_D", "line 3: --dirr is no option of benchdnn's driver conv; did you"},
      {"--conv --attr-post-ops=add:f32:per_row ic3oc4ih3kh1",
       "'per_row' is not a mask of a post-op"},
      {"--conv --dir=SIDEWAYS ic3oc4ih3kh1", "'SIDEWAYS' is not a direction; use FWD_B"},
      {"--conv --cfg=u8s9 ic3oc4ih3kh1", "'u8s9' is not a configuration"},
      {"--conv --dt=f32:f33:f32 ic3oc4ih3kh1", "'f33' is not a type"},
      {"--conv --dt=f32:f32 ic3oc4ih3kh1", "give one type, or 3"},
      {"--conv --stag=a/b ic3oc4ih3kh1", "'a/b' is not a layout"},
      {"--conv --alg=FFT ic3oc4ih3kh1", "--alg=fft is unknown; use DIRECT"},
      {"--conv --attr-post-ops=relux ic3oc4ih3kh1", "'relux' is not a post-op"},
      {"--conv ic3oc4", "needs an image"},
      {"--conv ic3oc4ih3", "needs kh of 1 or more"},
      {"--conv oc4ih3kh1", "needs ic of 1 or more"},
      {"--conv ic3oc4ih3kh1sh0", "needs a stride sh of 1 or more"},
      {"--conv ic3oc4ih3kh9", "has no result along h: input 3, kernel 9"},
      {"--conv ic3oc4ih9oh3kh3ph0", "contradicts itself: oh is 3, and ih gives 7"},
      {"--deconv ic3oc4ih3kh1ph3", "has no result along h: input 3, kernel 1"},
      {"--deconv ic3oc4ih3oh9kh3ph0", "contradicts itself: oh is 9, and ih gives 5"},
      {"--deconv --alg=AUTO ic3oc4ih3kh1", "--alg=auto is unknown; use DIRECT or WINO"},
      {"--conv ic3oc4ih3kh1zz9", "has the unknown part 'zz9'"},
      {"--conv ic3oc4ih99999999999999999999kh1",
       "has ih99999999999999999999; write a number up to"},
      {"--conv ic3oc4id3kd1ih3kh1", "needs both h and w beside d"},
      {"--eltwise 2x0x", "is not a shape"},
      {"--eltwise 2x2:2x2", "has 2 shapes; this driver takes 1"},
      {"--conv --match=( ic3oc4ih3kh1", "--match=( is not a regular expression"},
      {"--binary --alg=TIMES 2x2:2x2", "'TIMES' is not a binary function"},
      {"--reduction --alg=median 2x2:2x1", "'median' is not a reduction"},
      {"--eltwise --alpha=much 2x2", "'much' is not a number; write --alpha=0.5"},
      {"--concat --axis=c 2x2:2x2", "'c' is not a number"},
      {"-x", "'-x' is no option"},
      {"--batch=missing", "missing: no such file"},
      {"--batch=", "names no file"},
  };
  for (const Vector& one : kBad) EXPECT_THAT(message(one.line), HasSubstr(one.problem)) << one.line;
  EXPECT_THAT(message("--conv --batch=bad", "d/x"), StartsWith("d/bad, line 2: "));
  EXPECT_THAT(message("--batch=self", "d/x"), HasSubstr("d/self, line 1: --batch=self includes"));
  EXPECT_THAT(message("--batch=../x", "d/x"), HasSubstr("outside of the file's folder"));
  EXPECT_THAT(message("--batch=/etc/passwd", "d/x"), HasSubstr("outside of the file's folder"));
  EXPECT_THAT(message(std::string((4 << 20) + 1, ' ')), HasSubstr("larger than 4 MiB; split it"));
  std::string often;
  for (int i = 0; i < 1000; ++i) often += "--batch=empty ";
  EXPECT_THAT(message(often, "d/x"), HasSubstr("more than 1000 files"));
  // 70^3 problems.
  std::string list = "0";
  for (int i = 1; i < 70; ++i) list += ",0";
  const std::string lists = fmt::format("--eltwise --alpha={0} --beta={0} --mb={0} ", list);
  EXPECT_THAT(message(lists + "2x2"), HasSubstr("more than 250000 problems; give --first N"));
}

// In a file, one line that is not understood is one problem that is refused: oneDNN's main has
// options, types and extents that other versions do not have.
TEST(BenchdnnTest, AFileKeepsWhatIsUnderstood) {
  const auto read = [](const std::string& text, std::size_t first = 1000) {
    return ParseBenchdnnFile(
        text, "d/x", [](const std::string& path) -> std::string { throw UsageError(path); }, first);
  };
  const auto refusals = [&](const std::string& text) {
    std::vector<std::string> lines;
    for (const BenchdnnRefusal& one : read(text).refused) {
      lines.push_back(one.problem + ": " + one.reason);
    }
    return lines;
  };
  // An empty value is the default, as in tests/benchdnn/inputs/reduction of oneDNN 3f27bec21f.
  const BenchdnnText eps = read("--reduction --alg=sum --p=1 --eps=\n2x3x4x4:2x3x1x1\n");
  EXPECT_THAT(eps.rows, SizeIs(1));
  EXPECT_THAT(eps.refused, IsEmpty());
  // Of two types one is unknown.
  const std::string types = "--eltwise --dt=f4_e2m1,f32\n2x2\n3x3\n";
  EXPECT_THAT(read(types).rows, SizeIs(2));
  EXPECT_THAT(refusals(types), ElementsAre(StartsWith("eltwise/2x2: d/x, line 2: "),
                                           StartsWith("eltwise/3x3: d/x, line 3: ")));
  // An unknown option counts until the driver's options are reset.
  const std::string option = "--eltwise --grouped=4 2x2 3x3 --reset 4x4\n--conv ic3 2x2\n";
  EXPECT_THAT(read(option).rows, SizeIs(1));
  EXPECT_THAT(
      refusals(option),
      ElementsAre(AllOf(StartsWith("eltwise/2x2: d/x, line 1: "), HasSubstr("--grouped")),
                  StartsWith("conv/ic3: d/x, line 2: "), StartsWith("conv/2x2: d/x, line 2: ")));
  EXPECT_THAT(read("--eltwise 2x2 3x3 4x4", 2).rows, SizeIs(2));
}

// tests/benchdnn/inputs/pool/shapes_2d, line 115: the width is the height's.
TEST(BenchdnnTest, AWidthWithoutExtentsIsTheHeight) {
  EXPECT_EQ(One("--pool --dir=FWD_I mb1ic8_ih3oh3_kh3ph1_dh2dw2"),
            One("--pool --dir=FWD_I mb1ic8_ih3oh3_kh3ph1_dh2"));
}

// The line of every row that is an operation of topdnn, in the real logs and in topdnn's own, reads
// back as the same problem.
TEST(BenchdnnTest, RowsOfLogsReadBackFromTheirLines) {
  std::size_t lines = 0;
  for (const auto& log :
       std::filesystem::directory_iterator(TOPDNN_SOURCE_DIR "/tests/bench/traces")) {
    std::ifstream file(log.path(), std::ios::binary);
    TraceReader reader;
    reader.Add(std::string{std::istreambuf_iterator<char>(file), {}});
    for (const TraceRow& row : reader.Finish().rows) {
      const auto problem = ProblemOf(row);
      const auto* const traced = std::get_if<TracedProblem>(&problem);
      if (traced == nullptr || !traced->logged_reason.empty()) continue;
      const BenchdnnLine line = BenchdnnLineOf(row);
      ASSERT_THAT(line.reason, "") << row.problem;
      EXPECT_EQ(One(line.text), Translated(row)) << line.text;
      ++lines;
    }
  }
  EXPECT_GT(lines, 300u);
}

// The set "smoke" has a problem of every operation. Padding that no window reads is not in a line.
TEST(BenchdnnTest, ProblemsReadBackFromTheirLines) {
  std::map<std::string, int> lines;
  std::map<std::string, int> without;
  for (const CountedProblem& counted : ProblemSetNamed("smoke").problems) {
    for (const Pass pass : counted.passes) {
      for (const DataType type : {DataType::kF32, DataType::kBF16, DataType::kU8}) {
        const TracedProblem problem{counted.op, {pass, type != DataType::kU8, type}, {}, ""};
        if (!counted.op->Has(problem.execution)) continue;
        const BenchdnnLine line = BenchdnnLineOf(problem);
        if (line.text.empty()) {
          EXPECT_FALSE(line.reason.empty());
          ++without[std::string(counted.op->kind())];
          continue;
        }
        ++lines[std::string(counted.op->kind())];
        const std::vector<TraceRow> rows = Rows(line.text);
        ASSERT_EQ(rows.size(), 1u) << line.text;
        const auto read = ProblemOf(rows.front());
        const auto* const same = std::get_if<TracedProblem>(&read);
        if (same == nullptr || !same->logged_reason.empty()) {
          // A log's rounding to whole numbers is not always known.
          EXPECT_EQ(type, DataType::kU8) << line.text;
          continue;
        }
        const TracedProblem& again = *same;
        EXPECT_EQ(again.execution.pass, pass) << line.text;
        EXPECT_EQ(again.execution.type, type) << line.text;
        // (a log has no mode for operations without passes, and a pooling over any axes is
        // inference)
        EXPECT_TRUE(again.execution.training || type == DataType::kU8 ||
                    counted.op->kind() == "pool_nd")
            << line.text;
        EXPECT_EQ(again.op->kind(), counted.op->kind());
        EXPECT_EQ(again.op->WorkIn(problem.execution).flops,
                  counted.op->WorkIn(problem.execution).flops)
            << line.text;
        const auto shapes = [&problem](const Op& op) {
          std::string text;
          for (const Operand& operand : op.Operands(problem.execution)) {
            text += fmt::format("{} {} {} ", NameOf(operand.arg), operand.shape.ToString(),
                                NameOf(operand.type));
          }
          return text;
        };
        EXPECT_EQ(shapes(*again.op), shapes(*counted.op)) << line.text;
      }
    }
  }
  for (const char* const kind :
       {"conv",    "gemm",      "conv_nd",      "conv_transpose", "inner_product", "pool",
        "pool_nd", "relu",      "bounded_relu", "clip",           "sigmoid",       "hard_sigmoid",
        "unary",   "batchnorm", "lrn",          "softmax",        "add",           "binary",
        "concat",  "bias",      "interpolate"}) {
    EXPECT_GT(lines[kind], 0) << kind;
  }
  EXPECT_GT(without["dropout"], 0);
  EXPECT_GT(without["sgd"], 0);
}

// Each reduction that topdnn and oneDNN have is written under oneDNN's name.
TEST(BenchdnnTest, ReductionsReadBackFromTheirLines) {
  for (const ReduceAlgorithm algorithm :
       {ReduceAlgorithm::kSum, ReduceAlgorithm::kMean, ReduceAlgorithm::kMax, ReduceAlgorithm::kMin,
        ReduceAlgorithm::kProduct, ReduceAlgorithm::kL1, ReduceAlgorithm::kL2,
        ReduceAlgorithm::kSumSquare}) {
    const auto op = std::make_shared<ReduceOp>(algorithm, Shape{2, 3, 4}, std::vector<int>{2});
    const BenchdnnLine line =
        BenchdnnLineOf(TracedProblem{op, {Pass::kForward, true, DataType::kF32}, {}, ""});
    EXPECT_THAT(One(line.text), StartsWith("reduce/" + op->Problem() + " ")) << line.reason;
  }
  const auto other =
      std::make_shared<ReduceOp>(ReduceAlgorithm::kLogSumExp, Shape{2, 3}, std::vector<int>{1});
  EXPECT_EQ(
      BenchdnnLineOf(TracedProblem{other, {Pass::kForward, true, DataType::kF32}, {}, ""}).reason,
      "oneDNN has no reduction log_sum_exp");
}

TEST(BenchdnnTest, ALineHasWhatDiffersFromTheDefaults) {
  const auto written = [](const std::string& line) {
    const std::vector<TraceRow> rows = Rows(line);
    const BenchdnnLine again = BenchdnnLineOf(rows.at(0));
    return again.text.empty() ? again.reason : again.text;
  };
  EXPECT_EQ(written("--conv ic16oc16ih5kh3ph1"),
            "--conv mb2_ic16oc16_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1");
  EXPECT_EQ(written("--conv --dir=FWD_I --bia-dt=f32 --cfg=u8s8s32 --wtag=gOIhw4i16o4i "
                    "--attr-post-ops=sum+relu:0:0 g2mb1ic32oc32ih5kh3ph1"),
            "--conv --dir=FWD_I --bia-dt=f32 --dt=u8:s8:s32 --wtag=aBCde4c16b4c "
            "--attr-post-ops=sum+relu:0:0 "
            "g2mb1_ic32oc32_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1");
  EXPECT_EQ(written("--ip --dir=FWD_D --bia-dt=f32 --dt=bf16 --attr-post-ops=relu ic16oc16"),
            "--ip --dir=FWD_D --bia-dt=f32 --dt=bf16 --attr-post-ops=relu mb2ic16oc16");
  EXPECT_EQ(
      written("--pool --dir=BWD_D --alg=pooling_avg_include_padding --tag=nhwc ic2ih4kh2sh2"),
      "--pool --dir=BWD_D --tag=acdb --alg=avg_p mb2ic2_ih4oh2kh2sh2dh0ph0_iw4ow2kw2sw2dw0pw0");
  EXPECT_EQ(written("--eltwise --alg=eltwise_relu_use_dst_for_bwd --dir=bwd_d 2x3"),
            "--eltwise --dir=BWD_D --alg=relu_dst 2x3");
  EXPECT_EQ(written("--reduction --alg=norm_lp_sum --p=2 2x3:2x1"),
            "--reduction --alg=norm_lp_sum --p=2 2x3:2x1");
  EXPECT_EQ(written("--reduction --alg=max 2x3:2x1"), "--reduction --alg=max 2x3:2x1");
  EXPECT_THAT(written("--conv --attr-scales=src:common:2 ic16oc16ih5kh3"),
              HasSubstr("attr-scales"));
  EXPECT_THAT(written("--shuffle 2x2"), HasSubstr("does not write lines for shuffle"));
  EXPECT_EQ(BenchdnnLine({"", "too large"}).Printed("conv\n1"), "# conv\\n1: too large");
}

}  // namespace
}  // namespace topdnn
