// The first run of a library's kernel, in a child: whatever the kernel does, this process goes on
// and says why the kernel is not used. And the shapes of a public report (oneDNN#6035), with which
// oneDNN's own kernel crashes or spins.

#include "bench/command_line/kernel_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

KernelRequest RequestFor(const std::string& problem) {
  return {ParseProblem(problem), {Pass::kForward, false, DataType::kF32}, 1, {}, ""};
}

// A kernel of "a library" that calls a function on its source and destination.
class FakeKernel : public Kernel {
 public:
  using Body = std::function<void(float* src, std::size_t n, float* dst)>;
  FakeKernel(const KernelRequest& request, Body body) : Kernel(request), body_(std::move(body)) {
    implementation_ = "jit:fake";
  }
  void Prepare(const std::map<Arg, void*>& memory) override {
    src_ = static_cast<float*>(memory.at(Arg::kSrc));
    dst_ = static_cast<float*>(memory.at(Arg::kDst));
  }
  void Run() noexcept override { body_(src_, Find(Arg::kSrc)->desc.bytes() / sizeof(float), dst_); }

 private:
  Body body_;
  float* src_ = nullptr;
  float* dst_ = nullptr;
};

// 3 x 5 x 7 x 7 floats do not fill a page or a line.
const char* const kProblem = "relu/3x5x7x7";

std::string Fault(FakeKernel::Body body) {
  const KernelRequest request = RequestFor(kProblem);
  FakeKernel kernel(request, std::move(body));
  return TryKernel(request, kernel, /*least_seconds=*/0.5).value_or("no trial");
}

TEST(KernelTrials, AKernelThatWorksIsUsed) {
  EXPECT_EQ(Fault([](float* src, std::size_t n, float* dst) {
              std::memcpy(dst, src, n * sizeof(float));
            }),
            "");
}

TEST(KernelTrials, WhatAKernelDoesWrongIsSaid) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer has its own handlers for crashes";
#endif
  EXPECT_EQ(Fault([](float*, std::size_t n, float* dst) { dst[n] = 1; }), "writes outside of dst");
  EXPECT_EQ(Fault([](float*, std::size_t, float* dst) { dst[-1] = 1; }), "writes outside of dst");
  EXPECT_EQ(Fault([](float*, std::size_t n, float* dst) { dst[n + 4096] = 1; }),
            "reads or writes outside of dst");
  // 16 KiB behind its source, as a report has it
  EXPECT_EQ(Fault([](float* src, std::size_t n, float* dst) { dst[0] = src[n + 4096]; }),
            "reads or writes outside of src");
  EXPECT_EQ(Fault([](float*, std::size_t, float*) { std::abort(); }),
            "was ended by signal 6 (Aborted)");
  EXPECT_EQ(Fault([](float*, std::size_t, float*) { _exit(0); }), "ended the process");
  EXPECT_EQ(Fault([](float*, std::size_t, float*) { _exit(3); }), "ended the process");
}

TEST(KernelTrials, AKernelThatDoesNotEndIsEndedByItsCpuTime) {
  EXPECT_THAT(Fault([](float*, std::size_t, float* dst) {
                for (volatile float* at = dst;;) *at = 1;
              }),
              HasSubstr("did not end in 1 s of CPU time"));
}

TEST(KernelTrials, AUserWhoInterruptsItFindsNoFault) {
  EXPECT_EQ(Fault([](float*, std::size_t, float*) { raise(SIGTERM); }), "no trial");
}

TEST(KernelTrials, AnswersAreKeptByMachineAndLibrary) {
  const TestFolder folder("trials");
  const KernelRequest request = RequestFor(kProblem);
  FakeKernel good(request, [](float*, std::size_t, float*) {});
  FakeKernel bad(request, [](float*, std::size_t, float*) { raise(SIGUSR1); });
  const std::string reason =
      "oneDNN's jit:fake was ended by signal 10 (User defined signal 1) in a "
      "trial";
  {
    KernelTrials trials(CacheFolder(folder.path()), "cpu; library 1");
    EXPECT_EQ(trials.WhyNot(request, bad), reason);
    EXPECT_EQ(trials.WhyNot(request, good), reason);  // the same key
  }
  {
    KernelTrials later(CacheFolder(folder.path()), "cpu; library 1");
    EXPECT_EQ(later.WhyNot(request, good), reason);
  }
  {
    KernelTrials newer(CacheFolder(folder.path()), "cpu; library 2");
    EXPECT_EQ(newer.WhyNot(request, good), "");
  }
  KernelTrials again(CacheFolder(folder.path()), "cpu; library 2");
  EXPECT_EQ(again.WhyNot(request, bad), "");  // not tried again
  folder.Write("trials.json", "[1, 2");
  KernelTrials damaged(CacheFolder(folder.path()), "cpu; library 1");
  EXPECT_EQ(damaged.WhyNot(request, good), "");
}

// The library may abort because the user limited the memory (ulimit -v).
TEST(KernelTrials, AFaultOfALaterRunIsRememberedForTheLibraryAlone) {
  const TestFolder folder;
  const CacheFolder cache(folder.path());
  {
    KernelTrials trials(cache, "this");
    EXPECT_FALSE(trials.HasFaults());
    trials.AddFault("onednn", "kernel", "it crashed", /*store=*/true);
    trials.AddFault("onednn", "other", "it crashed", /*store=*/false);
    trials.AddFault("mine", "third", "it crashed", /*store=*/true);
    for (const char* key : {"kernel", "other", "third"}) {
      EXPECT_EQ(trials.KnownFault("onednn", key), "it crashed") << key;
    }
    EXPECT_EQ(trials.KnownFault("native", "kernel"), "");
  }
  const KernelTrials later(cache, "this");
  EXPECT_EQ(later.KnownFault("onednn", "kernel"), "it crashed");
  EXPECT_EQ(later.KnownFault("onednn", "other"), "");
  EXPECT_EQ(later.KnownFault("mine", "third"), "");
  EXPECT_EQ(later.KnownFault("onednn", "third"), "");
  EXPECT_FALSE(KernelTrials(cache, "another").HasFaults());
}

TEST(KernelTrials, AFaultWithLimitedMemoryIsNotRemembered) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs terabytes of addresses";
#endif
  const TestFolder folder("trials");
  const KernelRequest request = RequestFor(kProblem);
  FakeKernel bad(request, [](float*, std::size_t, float*) { raise(SIGABRT); });
  FakeKernel good(request, [](float*, std::size_t, float*) {});
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  {
    KernelTrials trials(CacheFolder(folder.path()), "cpu; library 1");
    rlimit limited = old;
    limited.rlim_cur = rlim_t{1} << 40;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
    EXPECT_THAT(trials.WhyNot(request, bad), HasSubstr("with the program's memory limited"));
    EXPECT_NE(trials.WhyNot(request, good), "");  // the same key
    ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  }
  KernelTrials later(CacheFolder(folder.path()), "cpu; library 1");
  EXPECT_EQ(later.WhyNot(request, good), "");
}

// With oneDNN 2.6.3: "malloc(): corrupted top size", or both threads spin.
class KnownFaultTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  TestFolder folder_{"faults"};
};

bool HasFault(const std::string& problem, Pass pass, const char* tag) {
  KernelRequest request = RequestFor(problem);
  request.execution = {pass, true, DataType::kF32};
  for (const Operand& operand : request.op->Operands(request.execution)) {
    if (operand.shape.rank() == 4 && operand.arg != Arg::kDiffWeights &&
        operand.arg != Arg::kWeights) {
      request.layouts[operand.arg] = *Layout::Parse(tag);
    }
  }
  const KernelOrRefusal offer = MakeKernel("onednn", request);
  const auto* const refusal = std::get_if<Refusal>(&offer);
  if (refusal == nullptr || !refusal->failed) return false;
  EXPECT_THAT(refusal->reason, HasSubstr("writes past its workspace here (oneDNN#6035"));
  return true;
}

// The table of the report: its shapes with a result, and those that are "ok".
TEST_F(KnownFaultTest, HoldsForTheShapesOfTheReport) {
  const auto shape = [](int ic, int oc, int stride) {
    return "conv/n32c" + std::to_string(ic) + "h128w128k" + std::to_string(oc) + "r1s1u" +
           std::to_string(stride) + "v" + std::to_string(stride) + "p0q0";
  };
  if (!HasFault(shape(4, 8, 2), Pass::kBackwardWeights, "acdb")) {
    GTEST_SKIP() << "oneDNN has another kernel for the report's first shape here";
  }
  EXPECT_FALSE(HasFault(shape(16, 16, 2), Pass::kBackwardWeights, "acdb"));
  EXPECT_FALSE(HasFault(shape(24, 16, 2), Pass::kBackwardWeights, "acdb"));
  EXPECT_FALSE(HasFault(shape(4, 8, 1), Pass::kBackwardWeights, "acdb"));
  EXPECT_FALSE(HasFault(shape(4, 8, 2), Pass::kBackwardWeights, "abcd"));
  EXPECT_FALSE(HasFault(shape(4, 8, 2), Pass::kForward, "acdb"));
}

TEST_F(KnownFaultTest, TakesNoOtherResultWithIt) {
  const std::string problem = "conv/n32c4h64w64k8r1s1u2v2p0q0";
  const Outcome bench =
      RunProgram({"bench", "--problem", problem, "--threads", "1", "--benchmark_min_time=0.001",
                  "--benchmark_filter=(forward|backward_weights)/onednn-nhwc/f32/t1/manual"});
  EXPECT_THAT(bench.output, Not(HasSubstr("crashed")));
  if (bench.output.find("6035") == std::string::npos) {
    GTEST_SKIP() << "oneDNN has another kernel for the report's shape here";
  }
  EXPECT_EQ(bench.exit_status, 1) << bench.output;
  EXPECT_THAT(bench.output, HasSubstr("FAILED: oneDNN's jit_1x1"));
  EXPECT_THAT(bench.output, AllOf(HasSubstr("/forward/onednn-nhwc/"), HasSubstr("GFLOP/s")));
}

// Shortcuts of small ResNets. The first crashed, and took a whole profile with it.
TEST_F(KnownFaultTest, ATrainingStepOfAnyLayoutSurvives) {
  for (const char* model : {"sres8", "sres4b"}) {
    const std::string file =
        std::string(TOPDNN_SOURCE_DIR "/tests/bench/models_of_others/") + model + ".onnx";
    const Outcome step = RunProgram({"step", file, "--backend", "auto", "--batch", "32", "--data",
                                     "synthetic", "--dump", folder_.path() / "step.npz"});
    EXPECT_EQ(step.exit_status, 0) << step.output;
    EXPECT_THAT(step.output, HasSubstr("one training step of 32 images"));
  }
}

// From the report. Both threads spun in the kernel.
TEST_F(KnownFaultTest, GivesItsRowOfATraceAReason) {
  const std::string log =
      folder_.Write("onednn6035.log",
                    "onednn_verbose,primitive,exec,cpu,convolution,jit_1x1:avx2,backward_weights,"
                    "src:f32::blocked:acdb::f0 wei:f32:ap:blocked:ABcd8b8a::f0 bia:undef::undef::: "
                    "dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,"
                    "mb32_ic4oc8_ih32oh16kh1sh2dh0ph0_iw32ow16kw1sw2dw0pw0,0.5\n");
  const Outcome trace = RunProgram({"trace", log});
  EXPECT_THAT(trace.output, Not(HasSubstr("crashed")));
  if (trace.output.find("6035") == std::string::npos) {
    GTEST_SKIP() << "oneDNN has another kernel for the report's shape here";
  }
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_THAT(trace.output, HasSubstr("FAILED: oneDNN's jit_1x1"));
}

}  // namespace
}  // namespace topdnn
