// The vectorised loops for operations that OpenBLAS does not have, compared with the reference.

#include "kernels/kernel/omp_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/pool/pool.h"
#include "kernels/reorder/reorder.h"
#include "kernels/softmax/softmax.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

constexpr const char* kBackend = "native";
constexpr PoolAlgorithm kPoolAlgorithms[] = {PoolAlgorithm::kMax, PoolAlgorithm::kAverage,
                                             PoolAlgorithm::kAverageOfPadding};

TEST(PoolLoopsTest, RandomShapesAgreeWithTheReference) {
  Random random(21);
  for (int i = 0; i < 180; ++i) {
    const auto op = std::make_shared<PoolOp>(kPoolAlgorithms[i % 3], RandomPool(random, 40));
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const KernelRequest request = RequestFor(op, {pass, i % 2 == 0}, 1 + i / 2 % 2);
      EXPECT_EQ(CheckAgainstReference(kBackend, request, 300 + i), Verdict::kAgrees);
    }
  }
}

// Ties, infinities and NaN: the winners in the workspace are the reference's.
TEST(PoolLoopsTest, WinnersOfSpecialValuesAgreeWithTheReference) {
  Random random(22);
  constexpr double kHard[] = {-HUGE_VAL, HUGE_VAL, NAN, 0, 0, 1, 1, -HUGE_VAL};
  for (int i = 0; i < 60; ++i) {
    const auto op = std::make_shared<PoolOp>(PoolAlgorithm::kMax, RandomPool(random, 40));
    std::vector<double> src(static_cast<std::size_t>(op->src_shape().elements()));
    // Some images contain only minus infinity.
    for (double& v : src) v = i % 5 == 0 ? -HUGE_VAL : kHard[random.Between(0, 7)];
    const auto run_on = [&](const char* backend) {
      KernelRun run(backend, RequestFor(op, {Pass::kForward}, 2));
      run.Set(Arg::kSrc, src);
      run.Run();
      return std::pair(run.Get(Arg::kDst), run.Get(Arg::kWorkspace));
    };
    const auto [dst, winners] = run_on(kBackend);
    const auto [expected, expected_winners] = run_on("reference");
    EXPECT_EQ(winners, expected_winners) << op->Problem();
    for (std::size_t k = 0; k < dst.size(); ++k) {
      EXPECT_TRUE(dst[k] == expected[k] || (std::isnan(dst[k]) && std::isnan(expected[k])))
          << op->Problem() << " [" << k << "]: " << dst[k] << ", not " << expected[k];
    }
  }
}

TEST(PoolLoopsTest, KnownValues) {
  const PoolExtents e{.h = 3,
                      .w = 3,
                      .r = 2,
                      .s = 2,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_top = 1,
                      .pad_left = 1,
                      .ceil_mode = true};
  const std::vector<double> expected[] = {{1, 3, 7, 9}, {1, 2.5, 5.5, 7}, {0.25, 1.25, 2.75, 7}};
  for (int i = 0; i < 3; ++i) {
    KernelRun run(kBackend, RequestFor(std::make_shared<PoolOp>(kPoolAlgorithms[i], e),
                                       {Pass::kForward, false}, 1));
    run.Set(Arg::kSrc, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst), expected[i]) << NameOf(kPoolAlgorithms[i]);
    EXPECT_EQ(run.kernel()->implementation(), "omp loops");
  }
}

TEST(ActivationLoopsTest, RandomShapesAgreeWithTheReference) {
  Random random(23);
  for (int i = 0; i < 60; ++i) {
    const Shape shape = i % 10 == 9 ? Shape{kMinParallelElements + random.Between(0, 99)}
                                    : Shape{random.Between(1, 3), random.Between(1, 40),
                                            random.Between(1, 9), random.Between(1, 9)};
    const std::shared_ptr<const Op> ops[] = {std::make_shared<ReluOp>(shape),
                                             std::make_shared<ReluOp>(shape, 0.5F),
                                             std::make_shared<ClipOp>(shape, -0.25F, 0.75F)};
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      EXPECT_EQ(CheckAgainstReference(kBackend, RequestFor(ops[i % 3], {pass}, 1 + i / 3 % 2), i),
                Verdict::kAgrees);
    }
  }
}

TEST(ActivationLoopsTest, NanAndInfinityAgreeWithTheReference) {
  const std::vector<double> src = {-HUGE_VAL, -1, 0, 0.25, 6, 7, HUGE_VAL, NAN};
  const std::shared_ptr<const Op> ops[] = {std::make_shared<ReluOp>(Shape{8}),
                                           std::make_shared<ReluOp>(Shape{8}, 6.0F),
                                           std::make_shared<ClipOp>(Shape{8}, -1.0F, 6.0F)};
  for (const auto& op : ops) {
    CheckAgainstReference(kBackend, RequestFor(op, {}, 1), 1, {.inputs = {{Arg::kSrc, src}}});
    CheckAgainstReference(kBackend, RequestFor(op, {Pass::kBackwardData}, 1), 1,
                          {.inputs = {{Arg::kDst, src}}});
    CheckAgainstReference(kBackend, RequestFor(op, {Pass::kBackwardData}, 1), 1,
                          {.inputs = {{Arg::kDiffDst, src}}});
  }
}

TEST(ActivationLoopsTest, RunInPlace) {
  const auto op = std::make_shared<ReluOp>(Shape{4, 33});
  KernelRun run(kBackend, RequestFor(op, {}, 1));
  const Values inputs = RandomInputs(*op, {}, 3);
  run.SetInputs(inputs);
  run.Alias(Arg::kDst, Arg::kSrc);
  run.Run();
  std::vector<double> expected = inputs.at(Arg::kSrc);
  for (double& v : expected) v = static_cast<double>(static_cast<float>(std::max(v, 0.0)));
  EXPECT_EQ(run.Get(Arg::kSrc), expected);
}

TEST(SoftmaxLoopsTest, RandomShapesAgreeWithTheReference) {
  Random random(24);
  for (int i = 0; i < 40; ++i) {
    const auto op = std::make_shared<SoftmaxOp>(random.Between(1, 70),
                                                i % 4 == 0 ? 1000 : random.Between(1, 20));
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
      CheckOptions options;
      if (pass == Pass::kBackwardData) {
        // dst * (diff_dst - dot): magnitudes add where the formula subtracts.
        const Values inputs = RandomInputs(*op, request.execution, 40 + i);
        const auto& diff_dst = inputs.at(Arg::kDiffDst);
        const auto& dst = inputs.at(Arg::kDst);
        std::vector<double>& magnitude = options.magnitudes[Arg::kDiffSrc];
        magnitude.resize(dst.size());
        const auto k = static_cast<std::size_t>(op->classes());
        for (std::size_t n = 0; n < dst.size(); n += k) {
          double dot = 0;
          for (std::size_t j = n; j < n + k; ++j) dot += std::abs(diff_dst[j] * dst[j]);
          for (std::size_t j = n; j < n + k; ++j) {
            magnitude[j] = std::abs(dst[j]) * (std::abs(diff_dst[j]) + dot);
          }
        }
      }
      EXPECT_EQ(CheckAgainstReference(kBackend, request, 40 + i, options), Verdict::kAgrees);
    }
  }
}

TEST(SoftmaxLoopsTest, LargeLogitsDoNotOverflow) {
  KernelRun run(kBackend, RequestFor(std::make_shared<SoftmaxOp>(1, 3), {}, 1));
  run.Set(Arg::kSrc, {1e30, 1e30, -1e30});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{0.5, 0.5, 0}));
}

TEST(ReorderLoopsTest, CopiesOfAnyLengthAreComplete) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1023}, std::int64_t{1025},
                               kMinParallelElements, 2 * kMinParallelElements + 7}) {
    const auto op = std::make_shared<ReorderOp>(Shape{n}, DataType::kF32, DataType::kF32);
    EXPECT_EQ(CheckAgainstReference(kBackend, RequestFor(op, {}, 2), 9), Verdict::kAgrees);
  }
}

TEST(LoopsTest, OtherLayoutsAndTypesAreRefusedWithAReason) {
  const auto op = std::make_shared<ReluOp>(Shape{2, 16, 3, 3});
  KernelRequest request = RequestFor(op, {}, 1);
  request.layouts[Arg::kSrc] = Layout::ChannelsLast(4);
  EXPECT_NE(KernelRun(kBackend, request).refusal().find("row-major"), std::string::npos);
  const KernelRequest narrow = RequestFor(op, {Pass::kForward, true, DataType::kBF16}, 1);
  EXPECT_NE(KernelRun(kBackend, narrow).refusal().find("f32"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
