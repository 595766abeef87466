#include "kernels/pool_nd/pool_nd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// One to three axes, gaps, padding that differs by side, and last windows beyond the padding.
const char* const kWindows[] = {
    "2x3x9_kernel3_stride2_dilation2_before2_after1",
    "1x2x5_kernel3_stride3_dilation1_before0_after2",
    "2x3x8x7_kernel3x2_stride3x2_dilation1x3_before1x1_after0x1",
    "1x2x5x6x7_kernel2x3x2_stride2x1x3_dilation2x1x1_before1x2x0_after0x1x1",
    "1x17x6x7x8_kernel3x2x3_stride2x1x2_dilation1x1x1_before1x0x1_after1x1x0",
    "2x5x11_kernel3_stride3_dilation1_before1_after0",
    "2x3x40x40_kernel5x5_stride2x2_dilation2x2_before4x4_after3x3"};

std::vector<std::string> Problems() {
  std::vector<std::string> problems;
  for (const std::string window : kWindows) {
    for (const char* ceil : {"", "_ceil"}) {
      for (const char* name : {"max", "average", "average_of_padding"}) {
        problems.push_back(name + window + ceil);
      }
      for (const char* power : {"_p1", "_p2", "_p3"}) {
        problems.push_back("lp" + window + power + ceil);
      }
    }
  }
  return problems;
}

std::vector<double> Pool(const std::string& problem, const std::vector<double>& src) {
  KernelRun run("reference", RequestFor(ParseProblem("pool_nd/" + problem), {}, 1));
  run.Set(Arg::kSrc, src);
  run.Run();
  return run.Get(Arg::kDst);
}

TEST(PoolNdOpTest, ProblemsAreReadBackAndImpossibleOnesAreRefused) {
  for (const std::string& problem : Problems()) {
    EXPECT_EQ(ParseProblem("pool_nd/" + problem)->Problem(), problem);
  }
  for (const char* wrong : {"max1x1x4_kernel3_stride1_dilation1_before3_after0",
                            "max1x1x4_kernel3_stride1_dilation1_before0_after3",
                            "max1x1x2_kernel2_stride1_dilation3_before2_after0",
                            "max1x1x4_kernel6_stride1_dilation1_before0_after0",
                            "lp1x1x4_kernel2_stride1_dilation1_before0_after0_p0",
                            "max1x1x4_kernel2_stride1_dilation1_before0_after0_p2"}) {
    EXPECT_THROW(ParseProblem(std::string("pool_nd/") + wrong), ProblemError) << wrong;
  }
}

TEST(PoolNdReferenceTest, KnownValues) {
  using Row = std::vector<double>;
  const Row src = {3, -4, 5, -12, 1};
  // Windows of two elements with a gap of one: at -1, 1 and 3, where the last one is cut off.
  const std::string gap = "1x1x5_kernel2_stride2_dilation2_before1_after0_";
  EXPECT_EQ(Pool("max" + gap + "ceil", src), (Row{-4, -4, -12}));
  EXPECT_EQ(Pool("average" + gap + "ceil", src), (Row{-4, -8, -12}));
  EXPECT_EQ(Pool("average_of_padding" + gap + "ceil", src), (Row{-2, -8, -12}));
  EXPECT_EQ(Pool("lp" + gap + "p1", src), (Row{4, 16}));
  // A third window would cover only padding.
  EXPECT_EQ(Pool("max1x1x5_kernel3_stride3_dilation1_before0_after2_ceil", src), (Row{5, 1}));
  EXPECT_EQ(Pool("lp1x1x2_kernel2_stride1_dilation1_before0_after0_p2", {3, -4}), (Row{5}));
}

TEST(PoolNdOpTest, CountsElementsInsideTheImage) {
  const auto op = ParseProblem("pool_nd/average1x1x4_kernel3_stride2_dilation1_before1_after0");
  const Work work = op->WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(work.flops, 2 * 3 + 2);
  EXPECT_EQ(work.flops_without_padding, 2 + 3 + 2);
  EXPECT_FALSE(op->Has({Pass::kBackwardData}));
}

TEST(PoolNdBackendsTest, AgreeWithTheReference) {
  for (const std::string& problem : Problems()) {
    const auto op = ParseProblem("pool_nd/" + problem);
    for (const char* backend : {"onednn", "native", "eigen", "eigen-sgemm"}) {
      const KernelRequest request = RequestFor(op, {}, 2);
      EXPECT_EQ(CheckAgainstReference(ServingBackend(backend, request), request, 3),
                Verdict::kAgrees);
    }
  }
}

TEST(PoolNdBackendsTest, OneDnnComputesWindowsWithoutGapsInAnyLayout) {
  const auto kernel_of = [](const char* problem, const char* tag) {
    KernelRequest request = RequestFor(ParseProblem(std::string("pool_nd/") + problem), {}, 2);
    request.layouts[Arg::kSrc] = *Layout::Parse(tag);
    std::string implementation;
    CheckAgainstReference(ServingBackend("onednn", request), request, 5, {}, &implementation);
    return implementation;
  };
  const std::string cube = "_stride2x2x2_dilation1x1x1_before1x1x1_after1x1x1";
  for (const std::string name : {"max", "average", "average_of_padding"}) {
    const std::string volume = name + "2x17x7x7x7_kernel3x3x3" + cube;
    EXPECT_NE(kernel_of(volume.c_str(), "abcde"), "omp loops") << name;
    EXPECT_NE(kernel_of(volume.c_str(), "aBcde16b"), "omp loops") << name;
  }
  const std::string beyond = "2x3x8x8x8_kernel3x3x3" + cube + "_ceil";
  EXPECT_NE(kernel_of(("average" + beyond).c_str(), "abcde"), "omp loops");
  EXPECT_EQ(kernel_of(("average_of_padding" + beyond).c_str(), "abcde"), "omp loops");
  EXPECT_EQ(kernel_of("max1x3x9_kernel3_stride2_dilation2_before2_after1", "abc"), "omp loops");
}

TEST(PoolNdBackendsTest, AMaximumKeepsNan) {
  const auto op = ParseProblem("pool_nd/max1x1x4_kernel2_stride1_dilation2_before0_after0");
  for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
    const KernelRequest request = RequestFor(op, {}, 1);
    KernelRun run(ServingBackend(backend, request), request);
    run.Set(Arg::kSrc, {NAN, 1, 2, -HUGE_VAL});
    run.Run();
    EXPECT_TRUE(std::isnan(run.Get(Arg::kDst)[0])) << backend;
    EXPECT_EQ(run.Get(Arg::kDst)[1], 1) << backend;
  }
}

}  // namespace
}  // namespace topdnn
