// benchdnn's lines on the command line: a batch file is measured, a log and a plan are printed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// "BINARY:DT[:MASK_INPUT[:TAG]]" and "PRELU[:POLICY]" of tests/benchdnn/doc/knobs_attr.md. The
// policies are masks as in get_default_mask() of tests/benchdnn/dnn_types.cpp.
TEST(BenchdnnPostOpTest, AMaskIsANumberOrAPolicy) {
  // The shape and the layout of the operand of a post-op, or why there is none.
  const auto operand_of = [](const std::string& post_op, Arg arg = IndexedSrc(0)) {
    const std::vector<TraceRow> rows =
        ParseBenchdnnText("--conv --dir=FWD_I --attr-post-ops=" + post_op + " ic32oc16_ih5kh3ph1",
                          "given", /*is_file=*/false, [](const std::string& path) { return path; });
    const auto problem = ProblemOf(rows.at(0));
    if (const auto* none = std::get_if<NoProblem>(&problem)) return none->reason;
    const auto& traced = std::get<TracedProblem>(problem);
    const auto layout = traced.layouts.find(arg);
    return traced.op->Find(traced.execution, arg).value().shape.ToString() +
           (layout == traced.layouts.end() ? "" : " " + layout->second.tag());
  };
  EXPECT_EQ(operand_of("add:f32:2"), "1x16x1x1");
  EXPECT_EQ(operand_of("add:f32:per_oc"), "1x16x1x1");
  EXPECT_EQ(operand_of("mul:f32:PER_DIM_1"), "1x16x1x1");
  EXPECT_EQ(operand_of("add:s32:common"), "1x1x1x1");
  EXPECT_EQ(operand_of("add:f32"), "1x1x1x1");
  EXPECT_EQ(operand_of("add:f32:per_dim_0"), "2x1x1x1");
  EXPECT_EQ(operand_of("add:f32:per_dim_01"), "2x16x1x1");
  EXPECT_EQ(operand_of("add:f32:per_spatial"), "1x1x5x5");
  EXPECT_EQ(operand_of("add:f32:per_tensor"), "2x16x5x5");
  EXPECT_EQ(operand_of("add:f32:per_tensor:axb"), "2x16x5x5 acdb");
  EXPECT_EQ(operand_of("add:f32:15:nhwc"), "2x16x5x5 acdb");
  EXPECT_EQ(operand_of("add:f32:15:any"), "2x16x5x5");
  EXPECT_EQ(operand_of("add:f32:15:ab"), "topdnn's kernels have no post-op binary_add:f32:15:ab");
  EXPECT_EQ(operand_of("prelu:per_oc", {Arg::kWeights, 0}), "1x16x1x1");
  EXPECT_EQ(operand_of("prelu", {Arg::kWeights, 0}), "1x1x1x1");
}

TEST(BenchdnnCommandTest, ABatchFileIsMeasuredAndEveryRowKept) {
  const TestFolder folder;
  folder.Write("mini", "ic16oc16_ih5oh5kh3ph1n\"two\"\nic20oc32_iw13kw1pw0\n");
  folder.Write("all",
               "--conv --dir=FWD_I --batch=mini\n--sum 2x16x8x8\n"
               "--deconv --dir=FWD_I ic3oc4ih3kh2 --shuffle 2x2\n");
  const std::string at = "cd " + Quoted(folder.path().string()) + " && ";
  const std::string bench = at + BoundedProgram() + " bench --problems all --threads 1";
  const Outcome run = RunShell(bench + " --benchmark_min_time=0.0001");
  EXPECT_EQ(run.exit_status, kExitGood) << run.output;
  EXPECT_THAT(
      run.output,
      AllOf(HasSubstr("all/conv/n2c16h5w5k16r3s3u1v1p1q1/forward/onednn:any.any.any.infer/f32/t1/"),
            HasSubstr("all/add/2x16x8x8_of2/forward/onednn:abcd.abcd.abcd.train/f32/t1/"),
            HasSubstr("all/conv_nd/2x20x13_to32_groups1_kernel1_stride1_dilation1_before0_after0/"
                      "forward/onednn:any.any.any.infer/f32/t1/"),
            HasSubstr("all/conv_transpose/2x4x4x4_to3_groups1_kernel2x2_stride1x1_dilation1x1_"
                      "before0x0_after0x0/forward/onednn:any.any.any.infer/f32/t1/"),
            HasSubstr("SKIPPED: topdnn has no kernels for shuffle")));
  const Outcome lines = RunShell(bench + " --repro");
  EXPECT_EQ(lines.exit_status, kExitGood);
  EXPECT_THAT(
      lines.output,
      AllOf(StartsWith("--conv --dir=FWD_I mb2_ic16oc16_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1\n"
                       "--conv --dir=FWD_I mb2_ic20oc32_iw13ow13kw1sw1dw0pw0\n"
                       "--sum --stag=abcd:abcd --dtag=abcd 2x16x8x8\n"
                       "--deconv --dir=FWD_I mb2_ic3oc4_ih3oh4kh2sh1dh0ph0_iw3ow4kw2sw1dw0pw0\n"
                       "# "),
            HasSubstr("has no kernels for shuffle")));
  const Outcome nothing =
      RunShell(at + BoundedProgram() + " bench --problem '--shuffle 2x2' --threads 1");
  EXPECT_EQ(nothing.exit_status, kExitNothing) << nothing.output;
  folder.Write("bad", "# one\n--conv --dir=FWD_I ic16oc16kh3\n");
  const Outcome bad = RunShell(at + BoundedProgram() + " bench --problems bad 2>&1");
  EXPECT_EQ(bad.exit_status, kExitNothing);
  EXPECT_THAT(bad.output,
              HasSubstr("SKIPPED: bad, line 2: the problem 'ic16oc16kh3' needs ih of 1 or more"));
  const Outcome first = RunShell(bench + " --first 1 --benchmark_list_tests");
  EXPECT_EQ(std::count(first.output.begin(), first.output.end(), '\n'), 2) << first.output;
}

// oneDNN's main (3f27bec21f, tests/benchdnn/inputs): an empty value is the default, and an extent
// that is missing is that of the other axis.
TEST(BenchdnnCommandTest, LinesOfNewerFilesAreCases) {
  const TestFolder folder;
  folder.Write("eps.txt", "--reduction --alg=sum --p=1 --eps=\n2x3x4x4:2x3x1x1\n");
  const std::string bench =
      "cd " + Quoted(folder.path().string()) + " && " + BoundedProgram() + " bench --threads 1 ";
  const Outcome eps = RunShell(bench + "--problems eps.txt --benchmark_list_tests");
  EXPECT_EQ(eps.exit_status, kExitGood);
  EXPECT_THAT(eps.output, HasSubstr("reduce/sum2x3x4x4_cd_keep/forward/onednn"));
  const Outcome pool =
      RunShell(bench + "--problem '--pool mb1ic8_ih3oh3_kh3ph1_dh2dw2' --benchmark_list_tests");
  EXPECT_EQ(pool.exit_status, kExitGood);
  EXPECT_THAT(pool.output, HasSubstr("pooling/mb1ic8_ih3oh3kh3sh1dh2ph1_iw3ow3kw3sw1dw2pw1/"));
}

// The name of a primitive itself has neither its types nor the parameters of a function. The first
// problem of a name has it as it is, and each further one has what tells it apart.
TEST(BenchdnnCommandTest, DifferentProblemsOfOneNameAreDifferentCases) {
  const auto cases_of = [](const std::string& problem) {
    const Outcome outcome = RunShell(BoundedProgram() + " bench --threads 1 --problem '" + problem +
                                     "' --benchmark_list_tests=true");
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    return outcome.output;
  };
  const std::string eltwise = "given/primitive/eltwise_4x4_eltwise_linear";
  const std::string hot = "/forward/onednn:ab.ab.train/f32/t1/manual_time\n";
  const std::string cold = "/forward/onednn:ab.ab.train/f32/t1/cold/manual_time\n";
  const std::string other = "_data:f32_alg:eltwise_linear_alpha:2_beta:0";
  EXPECT_EQ(cases_of("--eltwise --alg=linear --alpha=0.25,2,0.25 4x4"),
            eltwise + hot + eltwise + cold + eltwise + other + hot + eltwise + other + cold);
  EXPECT_EQ(cases_of("--eltwise --alg=linear --alpha=2 4x4"), eltwise + hot + eltwise + cold);
  // A bias of one number a column, and of one number a result.
  EXPECT_THAT(
      cases_of("--matmul --bia_dt=f32 --bia_mask=2,3 64x128:128x32"),
      AllOf(HasSubstr("/matmul_64x128:128x32/forward/"),
            HasSubstr("/matmul_64x128:128x32_src:f32_wei:f32_bia:f32:mask3_dst:f32/forward/")));
  // The type of the result. What topdnn computes itself is the same for any parameter that it does
  // not read.
  EXPECT_THAT(cases_of("--ip --dir=FWD_B --dt=u8:s8:u8,u8:s8:s8 ic16oc16"),
              AllOf(HasSubstr("/inner_product_mb2ic16oc16/forward/"),
                    HasSubstr("/inner_product_mb2ic16oc16_src:u8_wei:s8_bia:f32_dst:s8/forward/")));
  EXPECT_EQ(std::ranges::count(cases_of("--eltwise --alg=relu --beta=0,1 4x4"), '\n'), 2);
}

// Google Benchmark's newer flags reach the cases, with Debian's 1.7.1.
TEST(BenchdnnCommandTest, NewerFlagsOfGoogleBenchmarkRun) {
  for (const auto& [flag, iterations] :
       {std::pair("--benchmark_min_time=5x", 5), {"--benchmark_dry_run", 1}}) {
    const Outcome outcome = RunShell(
        BoundedProgram() + " bench --threads 1 --problem add/2x16x8x8 --benchmark_filter=onednn " +
        flag + " --benchmark_format=json");
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    const std::size_t begin = outcome.output.find('{');
    ASSERT_NE(begin, std::string::npos) << outcome.output;
    const nlohmann::json json = nlohmann::json::parse(outcome.output.substr(begin), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << outcome.output;
    ASSERT_FALSE(json["benchmarks"].empty());
    int run = 0;
    for (const auto& one : json["benchmarks"]) {
      if (one.contains("error_occurred")) continue;  // a type that this CPU lacks
      EXPECT_EQ(one["iterations"], iterations);
      ++run;
    }
    EXPECT_GT(run, 0);
  }
  const Outcome seconds = RunShell(BoundedProgram() +
                                   " bench --threads 1 --problem add/2x16x8x8 "
                                   "--benchmark_filter=onednn --benchmark_min_time=0.001s");
  EXPECT_EQ(seconds.exit_status, kExitGood) << seconds.output;
}

TEST(BenchdnnCommandTest, ALogAndAPlanArePrintedAsLines) {
  const TestFolder folder;
  folder.Write("a.log",
               "onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0 "
               "dst_f32::blocked:aBcd8b:f0,attr-scratchpad:user ,,2x16x28x28,0.5\n"
               "onednn_verbose,exec,cpu,shuffle,ref:any,forward_training,data_f32::blocked:abcd:f0,"
               ",axis:1 group:4,2x16x28x28,0.25\n");
  const std::string at = "cd " + Quoted(folder.path().string()) + " && ";
  const Outcome log = RunShell(at + BoundedProgram() + " trace a.log --repro --json t.json");
  EXPECT_EQ(log.exit_status, kExitGood);
  EXPECT_EQ(log.output,
            "--reorder --dtag=aBcd8b 2x16x28x28\n"
            "# shuffle forward 2x16x28x28: topdnn does not write lines for shuffle\n");
  const nlohmann::json trace = ReadJson(folder.path() / "t.json");
  EXPECT_EQ(trace["rows"][0]["repro"], "--reorder --dtag=aBcd8b 2x16x28x28");
  EXPECT_TRUE(trace["rows"][1]["repro"].is_null());
  const Outcome plan =
      RunShell(BoundedProgram() + " plan lenet5 --infer --batch 1 --threads 1 --repro");
  EXPECT_EQ(plan.exit_status, kExitGood);
  EXPECT_THAT(plan.output, AllOf(HasSubstr("--conv --dir=FWD_I --bia-dt=f32 "),
                                 HasSubstr(" mb1_ic1oc6_ih"), HasSubstr("--ip --dir=FWD_I")));
}

}  // namespace
}  // namespace topdnn
