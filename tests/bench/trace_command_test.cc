// `topdnn trace`: a log measured here, a command that is run, a saved problem set, bad input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/exact/counter.h"
#include "harness/topdown/perf_events.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kReorderRow =
    "onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0 "
    "dst_f32::blocked:aBcd8b:f0,attr-scratchpad:user ,,2x16x28x28,0.5\n";
constexpr const char* kConvolution =
    "onednn_verbose,exec,cpu,convolution,jit:avx2,backward_data,src_f32::blocked:abcd:f0 "
    "wei_f32::blocked:abcd:f0 bia_undef::undef::f0 dst_f32::blocked:abcd:f0,,"
    "alg:convolution_direct,mb2_ic16oc32_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1,1.5\n";
constexpr const char* kUnknown =
    "onednn_verbose,exec,cpu,rnn,ref:any,forward_inference,src_layer_f32::blocked:abc:f0,,"
    "alg:vanilla_rnn,l1t2mb3sic4slc4dhc4dic4,0.25\n";

class TraceCommandTest : public testing::Test {
 protected:
  Outcome Run(const std::string& command) const {
    return RunShell("cd " + Quoted(folder_.path().string()) + " && " + command);
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestFolder folder_;
};

TEST_F(TraceCommandTest, EachRowIsMeasuredOrHasAReason) {
  const std::string convolution = kConvolution;
  folder_.Write("a.log",
                std::string("start\n") + kReorderRow + convolution + convolution + kUnknown);
  const Outcome outcome = Run(
      BoundedProgram() + " trace a.log --threads 1 --seconds 0.001 --json t.json --save set.txt");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("4 primitives of 3 kinds in 5 lines"),
                                    HasSubstr("topdnn has no kernels for rnn"),
                                    HasSubstr("93.3 % of the framework's time"),
                                    HasSubstr("13.3 % of it in reord")));
  const nlohmann::json trace = ReadJson(folder_.path() / "t.json");
  EXPECT_EQ(trace["schema"], 1);
  EXPECT_EQ(trace["dialect"], "onednn_verbose");
  EXPECT_EQ(trace["lines"], 5);
  EXPECT_EQ(trace["primitives"], 4);
  EXPECT_NEAR(trace["framework_seconds"].get<double>(), 0.00375, 1e-12);
  EXPECT_NEAR(trace["covered"].get<double>(), 3.5 / 3.75, 1e-9);
  EXPECT_TRUE(trace["between_seconds"].is_null());
  ASSERT_EQ(trace["rows"].size(), 3u);
  const nlohmann::json& conv = trace["rows"][0];
  EXPECT_EQ(conv["primitive"], "convolution");
  EXPECT_EQ(conv["pass"], "backward_data");
  EXPECT_EQ(conv["problem"], "mb2_ic16oc32_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1");
  EXPECT_EQ(conv["types"], "src:f32 wei:f32 dst:f32");
  EXPECT_EQ(conv["layouts"], "src:abcd wei:abcd dst:abcd");
  EXPECT_TRUE(conv["post_ops"].is_null());
  EXPECT_EQ(conv["count"], 2);
  EXPECT_NEAR(conv["framework_seconds"].get<double>(), 0.003, 1e-12);
  EXPECT_NEAR(conv["measured_seconds"].get<double>(),
              2 * conv["execution"]["cold"]["median"].get<double>(), 1e-12);
  EXPECT_NEAR(conv["hot_seconds"].get<double>(),
              2 * conv["execution"]["hot"]["median"].get<double>(), 1e-12);
  EXPECT_LE(conv["best_seconds"].get<double>(), conv["measured_seconds"].get<double>());
  EXPECT_FALSE(conv["best"].get<std::string>().empty());
  EXPECT_TRUE(conv["reason"].is_null());
  const nlohmann::json& reorder = trace["rows"][1];
  EXPECT_EQ(reorder["topdnn"], "reorder/2x16x28x28_fromf32_tof32");
  EXPECT_GT(reorder["measured_seconds"].get<double>(), 0);
  EXPECT_EQ(reorder["best"], "as in the log");
  const nlohmann::json& unknown = trace["rows"][2];
  EXPECT_TRUE(unknown["measured_seconds"].is_null());
  EXPECT_TRUE(unknown["best_seconds"].is_null());
  EXPECT_EQ(unknown["reason"], "topdnn has no kernels for rnn");
  EXPECT_NEAR(unknown["framework_seconds"].get<double>(), 0.00025, 1e-12);

  const Outcome again =
      Run(BoundedProgram() + " bench --problems set.txt --threads 1 --benchmark_min_time=0.0001");
  EXPECT_EQ(again.exit_status, kExitGood) << again.output << Text("set.txt");
  EXPECT_THAT(again.output,
              AllOf(HasSubstr("set/reorder/2x16x28x28_fromf32_tof32/forward/"
                              "onednn:abcd.aBcd8b.train/f32/t1/manual_time"),
                    HasSubstr("set/conv/n2c16h14w14k32r3s3u1v1p1q1/backward_data/"
                              "onednn:abcd.abcd.abcd.train/f32/t1/cold/manual_time")));
}

// Logs of others (traces/README.md), as lines for benchdnn: MKL-DNN 0.x, lines without times, and a
// framework on another CPU.
TEST_F(TraceCommandTest, LogsOfOthersAreRead) {
  const auto lines_of = [&](const std::string& log) {
    return RunProgram({"trace", TOPDNN_SOURCE_DIR "/tests/bench/traces/" + log, "--repro"}).output;
  };
  EXPECT_EQ(lines_of("serving1272_mkldnn_v0.log"),
            "--conv --dir=FWD_D --stag=aBcd8b --wtag=ABcd8b8a --dtag=aBcd8b "
            "mb1_g1ic256oc256_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1\n"
            "--conv --dir=FWD_D --stag=aBcd8b --wtag=ABcd8b8a --dtag=aBcd8b "
            "mb1_g1ic1024oc256_ih14oh14kh1sh1dh0ph0_iw14ow14kw1sw1dw0pw0\n"
            "--reorder --stag=cdba --dtag=ABcd8b8a 256x1024x1x1\n"
            "--eltwise --tag=aBcd8b 1x1024x14x14\n"
            "--bnorm --dir=FWD_I --tag=aBcd8b --flags=GS mb1ic1024ih14iw14\n");
  EXPECT_EQ(lines_of("arm_acl_notime.log"),
            "--conv --stag=acdb --wtag=acdb --dtag=acdb --attr-post-ops=relu "
            "mb1_ic256oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0\n"
            "--conv --stag=abcd --wtag=abcde --dtag=abcd --attr-post-ops=bounded_relu:6 "
            "mb1_g64ic64oc64_ih112oh56kh3sh2dh0ph0_iw112ow56kw3sw2dw0pw0\n");
  EXPECT_THAT(lines_of("tf_spr_amx_2.6.log"),
              HasSubstr("--conv --dir=FWD_D --dt=bf16 --stag=acdb --wtag=Adcb16a --dtag=acdb "));
}

// topdnn does not use oneDNN's logarithm, so the time is not that of the framework's kernel.
TEST_F(TraceCommandTest, ARowThatOwnLoopsComputeIsMarked) {
  folder_.Write("a.log",
                "onednn_verbose,exec,cpu,eltwise,jit:avx2,forward_inference,"
                "data_f32::blocked:abcd:f0 diff_undef::undef::f0,,"
                "alg:eltwise_log alpha:0 beta:0,2x16x28x28,0.5\n" +
                    std::string(kReorderRow));
  const Outcome outcome = Run(
      BoundedProgram() + " trace a.log --threads 1 --seconds 0.001 --alternatives 0 --json t.json");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("measured with topdnn's own loops"));
  const nlohmann::json trace = ReadJson(folder_.path() / "t.json");
  const nlohmann::json& log = trace["rows"][0];
  const nlohmann::json& reorder = trace["rows"][1];
  EXPECT_EQ(log["implementation"], "omp loops");
  EXPECT_EQ(log["own_loops"], true);
  EXPECT_EQ(reorder["own_loops"], false);
  // The ratio is that of the reorder alone. (The times of a row are rounded.)
  const double ratio =
      reorder["hot_seconds"].get<double>() / reorder["framework_seconds"].get<double>();
  EXPECT_NEAR(trace["median_ratio"]["hot"].get<double>(), ratio, 1e-6 * ratio);
}

// A framework's kernel for layouts that only unoptimized loops have on another CPU (a log of
// TensorFlow with AMX): 3x3 channels last with weights in OIhw, whose times say nothing about it.
TEST_F(TraceCommandTest, ARowOfUnoptimizedLoopsIsApart) {
  folder_.Write("a.log",
                "onednn_verbose,exec,cpu,convolution,jit:avx512_core_amx_bf16,forward_inference,"
                "src_f32::blocked:bacd:f0 wei_f32::blocked:badc:f0 bia_undef::undef::f0 "
                "dst_f32::blocked:bacd:f0,,alg:convolution_direct,"
                "mb1_ic3oc4_ih6oh6kh3sh1dh0ph1_iw6ow6kw3sw1dw0pw1,0.5\n" +
                    std::string(kReorderRow));
  const Outcome outcome =
      Run(BoundedProgram() + " trace a.log --threads 1 --seconds 0.001 --json t.json");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json trace = ReadJson(folder_.path() / "t.json");
  const nlohmann::json& convolution = trace["rows"][0];
  const nlohmann::json& reorder = trace["rows"][1];
  ASSERT_THAT(convolution["implementation"].get<std::string>(), testing::StartsWith("ref"));
  EXPECT_EQ(convolution["reference_loops"], true);
  EXPECT_EQ(reorder["reference_loops"], false);
  EXPECT_EQ(reorder["reason"], nullptr);
  const std::string reason = "oneDNN has only unoptimized loops here for a conv forward in f32";
  EXPECT_THAT(convolution["reason"].get<std::string>(),
              AllOf(StartsWith(reason + " in the log's layouts; in layouts of its choice it has "),
                    Not(HasSubstr("ref"))));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("(ref)"), HasSubstr("oneDNN has only unoptimized loops"),
                    // (µs or us)
                    HasSubstr("s (1 row): " + reason),
                    HasSubstr("rows with 50.0 % of the framework's time"),
                    Not(HasSubstr("faster variants would save"))));
  EXPECT_EQ(trace["saved_seconds"], 0);  // (a reorder has no variants)
  const double ratio =
      reorder["hot_seconds"].get<double>() / reorder["framework_seconds"].get<double>();
  EXPECT_NEAR(trace["median_ratio"]["hot"].get<double>(), ratio, 1e-6 * ratio);
}

// A product of 64x32 and 32x48 matrices: 2 * 64 * 32 * 48 FLOPs by definition. The kernel executes
// these, and may add some for edges.
TEST_F(TraceCommandTest, TheExecutedFlopsAreCountedExactly) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  folder_.Write("a.log",
                "onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 "
                "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,64x32:32x48:64x48,0.5\n");
  const Outcome outcome =
      Run(BoundedProgram() +
          " trace a.log --threads 1 --seconds 0.001 --alternatives 0 --exact --json t.json");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json row = ReadJson(folder_.path() / "t.json")["rows"][0];
  EXPECT_EQ(row["flops"], 2 * 64 * 32 * 48);
  ASSERT_TRUE(row["flops_counted"].is_number()) << row["counts_reason"];
  EXPECT_GE(row["flops_counted"].get<double>(), 2 * 64 * 32 * 48);
  EXPECT_LE(row["flops_counted"].get<double>(), 1.1 * 2 * 64 * 32 * 48);
}

// The row has bounds or a reason, in the form of a profile's stage.
TEST_F(TraceCommandTest, AnExactCountGivesBoundsOrAReason) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  folder_.Write("a.log", std::string(kConvolution) + kUnknown);
  const Outcome outcome = Run(BoundedProgram() +
                              " trace a.log --threads 1 --seconds 0.01 --alternatives 0 --counters "
                              "exact --ceilings --json t.json");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Top-Down bounds"));
  const nlohmann::json row = ReadJson(folder_.path() / "t.json")["rows"][0];
  ASSERT_NE(row["topdown_bounds"].is_null(), row["topdown_bounds_reason"].is_null());
  if (!row["topdown_bounds"].is_null()) {
    const nlohmann::json& retiring = row["topdown_bounds"]["Retiring"];
    EXPECT_GT(retiring[0].get<double>(), 0);
    EXPECT_LE(retiring[0].get<double>(), retiring[1].get<double>());
  }
  EXPECT_GT(row["events"]["exact/instructions"].get<double>(), 0);
  EXPECT_TRUE(row["topdown"].is_null());
}

// The program ends before it reads the log or runs the command.
TEST_F(TraceCommandTest, PerfWithoutAPmuIsStatus3) {
  const OpenedPerf perf = OpenPerf({}, PerfSetting::Here());
  if (perf.availability.works) GTEST_SKIP() << "this machine has a PMU";
  const Outcome outcome = Run(BoundedProgram() + " trace --counters perf --run -- echo hello");
  EXPECT_EQ(outcome.exit_status, kExitNothing) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("--counters perf: nothing can be counted"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("hello")));
}

TEST_F(TraceCommandTest, ALogMayComeFromStandardInputOrBeReadOnly) {
  folder_.Write("a.log", kReorderRow);
  const Outcome outcome =
      Run(BoundedProgram() + " trace - --read-only --json - < a.log 2>/dev/null");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json trace = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(trace["rows"][0]["reason"], "not measured");
  EXPECT_TRUE(trace["rows"][0]["measured_seconds"].is_null());
  EXPECT_EQ(trace["covered"], 0.0);
}

TEST_F(TraceCommandTest, NothingMeasurableIsStatus3) {
  folder_.Write("a.log", kUnknown);
  EXPECT_EQ(Run(BoundedProgram() + " trace a.log").exit_status, kExitNothing);
}

// The command gets oneDNN's variables, and its own lines are passed on.
TEST_F(TraceCommandTest, ACommandIsRunAndItsOutputPassedOn) {
  folder_.Write("a.log", kReorderRow);
  folder_.Write("command.sh",
                "echo begin $1 $ONEDNN_VERBOSE $DNNL_VERBOSE $ONEDNN_VERBOSE_TIMESTAMP\n"
                "cat a.log\n"
                "printf 'name? '; sleep 0.3; echo yes\n"
                "cat a.log\n"
                "printf end\n");
  const Outcome outcome =
      Run("env -u ONEDNN_VERBOSE -u DNNL_VERBOSE -u ONEDNN_VERBOSE_TIMESTAMP " + BoundedProgram() +
          " trace --run --read-only -- sh command.sh --json");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("begin --json 1 1 1\nname? yes\nend"));
  EXPECT_THAT(outcome.output, HasSubstr("2 primitives of 1 kind in 5 lines"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("jit:blk")));
}

// What counts is whether oneDNN prints executions at the level of the environment: oneDNN 3 reads
// words, and reads DNNL_VERBOSE only without ONEDNN_VERBOSE. What the user asked for is kept.
TEST_F(TraceCommandTest, ExecutionsArePrintedAtAnyLevelOfTheEnvironment) {
  folder_.Write("a.log", kReorderRow);
  const std::string clean = "env -u ONEDNN_VERBOSE -u DNNL_VERBOSE -u MKLDNN_VERBOSE ";
  for (const auto& [variables, levels] : std::vector<std::pair<std::string, std::string>>{
           {"MKLDNN_VERBOSE=1", "1 1 1 1"},
           {"ONEDNN_VERBOSE=2", "2 2 1 1"},
           {"DNNL_VERBOSE=2 ONEDNN_VERBOSE=", "2 2 1 1"},
           {"ONEDNN_VERBOSE=0 DNNL_VERBOSE=2", "1 1 1 1"},
           {"ONEDNN_VERBOSE=error", "1,error 1 1 1"},
           {"DNNL_VERBOSE=profile_create", "1,profile_create 1 1 1"},
           {"ONEDNN_VERBOSE=profile_exec,dispatch", "1,profile_exec,dispatch 1 1 1"},
           {"ONEDNN_VERBOSE=1,filter=matmul", "1,filter=matmul 1 1 1"},
           {"ONEDNN_VERBOSE=1,none", "1 1 1 1"},
           {"ONEDNN_VERBOSE_TIMESTAMP=0 DNNL_VERBOSE_TIMESTAMP=1", "1 1 1 1"}}) {
    const Outcome outcome =
        Run(clean + variables + " " + BoundedProgram() +
            " trace --run --read-only -- sh -c 'echo $ONEDNN_VERBOSE $DNNL_VERBOSE "
            "$ONEDNN_VERBOSE_TIMESTAMP $DNNL_VERBOSE_TIMESTAMP; cat a.log'");
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith(levels + "\n")) << variables;
  }
  const Outcome real = Run(clean + "ONEDNN_VERBOSE=profile_create " + BoundedProgram() +
                           " trace --run --read-only -- " + QuotedProgram() +
                           " step lenet5 --batch 1 --threads 1 --dump step.npz");
  EXPECT_EQ(real.exit_status, kExitGood) << real.output;
  EXPECT_THAT(real.output, AllOf(HasSubstr(" primitives of "), HasSubstr("convolution")));
}

// A line of 9 MB, which is no line of oneDNN, and a last line of the same length without a newline.
TEST_F(TraceCommandTest, AVeryLongLineIsPassedOnWhole) {
  folder_.Write("command.sh",
                "long() { head -c 9000000 /dev/zero | tr '\\0' x; }\n"
                "long; echo; echo between; long\n");
  const Outcome outcome =
      Run(BoundedProgram() + " trace --run --read-only -- sh command.sh 2>/dev/null");
  const std::string line(9000000, 'x');
  EXPECT_TRUE(outcome.output == line + "\nbetween\n" + line) << outcome.output.size();
}

TEST_F(TraceCommandTest, AFailedCommandIsAFailureAfterItsTrace) {
  folder_.Write("a.log", kReorderRow);
  const Outcome outcome =
      Run(BoundedProgram() + " trace --run --read-only -- sh -c 'cat a.log; exit 7'");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("topdnn: sh ended with status 7"),
                                    HasSubstr("1 primitive of 1 kind")));
  const Outcome killed =
      Run(BoundedProgram() + " trace --run --read-only -- sh -c 'cat a.log; kill -9 $$'");
  EXPECT_EQ(killed.exit_status, kExitWrong);
  EXPECT_THAT(killed.output, HasSubstr("topdnn: sh was ended by signal 9"));
}

TEST_F(TraceCommandTest, ANameOfTwoLinesIsPrintedInOne) {
  folder_.Write("a.log", kReorderRow);
  folder_.Write("a\nb", "#!/bin/sh\ncat a.log\nexit 7\n");
  const Outcome outcome = Run("chmod +x a*b && " + BoundedProgram() +
                              " trace --run --read-only -- \"$(printf './a\\nb')\"");
  EXPECT_THAT(outcome.output, HasSubstr("topdnn: ./a\\nb ended with status 7\n"));
}

// No one misses the message, and the results are written.
TEST_F(TraceCommandTest, AClosedStandardErrorLosesNoResult) {
  folder_.Write("a.log", kReorderRow);
  Run(BoundedProgram() +
      " trace --run --read-only --json t.json -- sh -c 'cat a.log; exit 7' 2>&-");
  EXPECT_EQ(ReadJson(folder_.path() / "t.json")["primitives"], 1);
}

// As with `| head` behind the command: the program runs to its end, and the files have all of it.
TEST_F(TraceCommandTest, TheFilesAreWrittenWithoutAReader) {
  folder_.Write("a.log", kReorderRow);
  folder_.Write("command.sh", "echo begin; sleep 1; for i in 1 2 3; do echo text; cat a.log; done");
  const Outcome outcome =
      Run("{ " + QuotedProgram() +
          " trace --run --read-only --json t.json --save set.txt -- sh command.sh; "
          "echo $? >status; } | head -n 1");
  EXPECT_EQ(outcome.output, "begin\n");
  EXPECT_EQ(ReadJson(folder_.path() / "status"), 128 + SIGPIPE);
  EXPECT_EQ(ReadJson(folder_.path() / "t.json")["primitives"], 3);
  EXPECT_THAT(Text("set.txt"), HasSubstr("reorder/2x16x28x28_fromf32_tof32"));
}

// As some parents start a program: then wait() fails.
TEST_F(TraceCommandTest, AnIgnoredSignalOfChildrenDoesNotMatter) {
  folder_.Write("a.log", kReorderRow);
  const std::string ignoring =
      "python3 -c 'import os,signal,sys; "
      "signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
      "os.execvp(sys.argv[1], sys.argv[1:])' ";
  const Outcome failed =
      Run(ignoring + QuotedProgram() + " trace --run --read-only -- sh -c 'cat a.log; exit 7'");
  EXPECT_EQ(failed.exit_status, kExitWrong) << failed.output;
  EXPECT_THAT(failed.output, HasSubstr("topdnn: sh ended with status 7"));
}

TEST_F(TraceCommandTest, AnInterruptBeforeTheFirstPrimitiveIsStatus130) {
  const Outcome outcome = Run("timeout -s INT 1 " + BoundedProgram() + " trace --run -- sleep 30");
  EXPECT_EQ(outcome.exit_status, 124) << outcome.output;  // that of timeout
  EXPECT_THAT(outcome.output, Not(HasSubstr("printed no execution")));
}

// The program must not run on without topdnn.
TEST_F(TraceCommandTest, TheProgramEndsWithTopdnn) {
  const Outcome outcome =
      Run("{ " + QuotedProgram() +
          " trace --run -- sh -c 'echo $$ >pid; exec sleep 60' >log 2>&1 & }; "
          "for i in $(seq 100); do [ -s pid ] && break; sleep 0.1; done; kill -9 $!; "
          "for i in $(seq 50); do kill -0 $(cat pid) 2>/dev/null || { echo gone; break; }; "
          "sleep 0.1; done; kill $(cat pid) 2>/dev/null");
  EXPECT_THAT(outcome.output, HasSubstr("gone"));
}

TEST_F(TraceCommandTest, ACommandWithoutOneDnnIsStatus3) {
  const Outcome outcome = Run(BoundedProgram() + " trace --run -- echo hello");
  EXPECT_EQ(outcome.exit_status, kExitNothing) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("hello\n"));
  EXPECT_THAT(outcome.output, HasSubstr("oneDNN printed no execution"));
}

class RefusedTraceTest : public testing::TestWithParam<RefusedCommand> {};

TEST_P(RefusedTraceTest, IsOneLineAndStatus2) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Arguments, RefusedTraceTest,
    testing::Values(
        RefusedCommand{{"trace"}, "give a log of oneDNN"},
        RefusedCommand{{"trace", "/nonexistent/a.log"}, "/nonexistent/a.log: cannot be read"},
        RefusedCommand{{"trace", "a.log", "b.log"}, "give one log"},
        RefusedCommand{{"trace", "/"}, "is a folder"},
        RefusedCommand{{"trace", "/dev/null"}, "is a device"},
        RefusedCommand{{"trace", "--run"}, "give a command"},
        RefusedCommand{{"trace", "--counters", "pmu", "a.log"}, "--counters pmu: must be one of"},
        RefusedCommand{{"trace", "--exact", "--counters", "perf", "a.log"},
                       "--exact is --counters exact"},
        RefusedCommand{{"trace", "--metrics", "flops", "a.log"}, "--metrics needs --counters"},
        RefusedCommand{{"trace", "--run", "--", "/nonexistent/program"}, "cannot be started"},
        RefusedCommand{{"trace", "--seconds", "0", "a.log"}, "--seconds 0: must be a number"},
        RefusedCommand{{"trace", TOPDNN_SOURCE_DIR "/LICENSE"}, "is an execution of a oneDNN"}),
    [](const auto& test) { return "Case" + std::to_string(test.index); });

TEST_F(TraceCommandTest, FilesWithoutAnExecutionAreRefused) {
  std::string garbage;
  for (int i = 0; i < 4096; ++i) garbage += static_cast<char>(i * 37 % 256);
  for (const auto& [content, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {garbage, "oneDNN printed nothing"},
           {"\n\n\n", "none of its 3 lines"},
           {"onednn_verbose,info,oneDNN v2.6.3\n", "it has other lines of oneDNN"},
           {"onednn_verbose,exec,cpu,reorder\n", "none of its 1 line "}}) {
    folder_.Write("bad.log", content);
    const Outcome outcome = Run(BoundedProgram() + " trace bad.log");
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

}  // namespace
}  // namespace topdnn
