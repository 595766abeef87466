#include "kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/check/tolerance.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr ReduceAlgorithm kSum = ReduceAlgorithm::kSum;
constexpr ReduceAlgorithm kMean = ReduceAlgorithm::kMean;

TEST(ReduceOpTest, ImpossibleGeometryIsRefusedInOneLine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const std::pair<Shape, std::vector<int>> impossible[] = {
      {Shape{}, {0}},      {Shape{2, 3}, {}},          {Shape{2, 3}, {2}},
      {Shape{2, 3}, {-1}}, {Shape{2, 3}, {1, 1}},      {Shape{2, 0}, {0}},
      {Shape{2, -3}, {0}}, {Shape{kHuge, kHuge}, {0}}, {Shape{1, 1, 1, 1, 1, 1, 1}, {0}},
  };
  for (const auto& [shape, axes] : impossible) {
    try {
      const ReduceOp op(kSum, shape, axes);
      ADD_FAILURE() << op.Problem();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(ReduceOpTest, ShapesAndProblems) {
  const ReduceOp kept(kMean, Shape{8, 64, 7, 5}, {3, 2});
  EXPECT_EQ(kept.dst_shape(), (Shape{8, 64, 1, 1}));
  EXPECT_EQ(kept.Problem(), "mean8x64x7x5_cd_keep");
  EXPECT_EQ(kept.count(), 35);
  const ReduceOp left_out(kSum, Shape{8, 64, 7, 5}, {0, 2, 3}, false);
  EXPECT_EQ(left_out.dst_shape(), Shape{64});
  EXPECT_EQ(left_out.Problem(), "sum8x64x7x5_acd");
  const ReduceOp to_scalar(kSum, Shape{4}, {0}, false);
  EXPECT_EQ(to_scalar.dst_shape(), Shape{});
  for (const ReduceOp& op : {kept, left_out, to_scalar}) {
    EXPECT_EQ(ParseProblem("reduce/" + op.Problem())->Problem(), op.Problem());
  }
  for (const char* wrong : {"sum8x4", "sum8x4_c", "sum8x4_a_b", "norm8x4_a", "sum8x4_ba"}) {
    EXPECT_THROW(ParseProblem(std::string("reduce/") + wrong), ProblemError) << wrong;
  }
}

TEST(ReduceOpTest, WorkCountsAdditionsAndDivisions) {
  const ReduceOp sum(kSum, Shape{2, 3, 4}, {1});
  EXPECT_EQ(sum.WorkOf(Pass::kForward, DataType::kF32).flops, 24);
  EXPECT_EQ(sum.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (24 + 8));
  EXPECT_EQ(sum.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 0);
  const ReduceOp mean(kMean, Shape{2, 3, 4}, {1});
  EXPECT_EQ(mean.WorkOf(Pass::kForward, DataType::kF32).flops, 24 + 8);
  EXPECT_EQ(mean.WorkOf(Pass::kBackwardData, DataType::kBF16).flops, 8);
  EXPECT_EQ(mean.AccumulationLength(Pass::kForward), 3);
  EXPECT_FALSE(mean.Has({Pass::kBackwardWeights}));
  const ReduceOp norm(ReduceAlgorithm::kL2, Shape{2, 3, 4}, {1});
  EXPECT_EQ(norm.WorkOf(Pass::kForward, DataType::kF32).flops, 2 * 24 + 8);
  EXPECT_FALSE(norm.Has({Pass::kBackwardData}));
}

std::vector<double> RunOn(const std::string& backend, const ReduceOp& op, Pass pass,
                          const std::vector<double>& values) {
  const bool forward = pass == Pass::kForward;
  const KernelRequest request = RequestFor(std::make_shared<ReduceOp>(op), {pass}, 1);
  KernelRun run(ServingBackend(backend, request), request);
  if (run.kernel() == nullptr) {
    ADD_FAILURE() << run.refusal();
    return {};
  }
  run.Set(forward ? Arg::kSrc : Arg::kDiffDst, values);
  run.Run();
  return run.Get(forward ? Arg::kDst : Arg::kDiffSrc);
}

TEST(ReduceKnownValuesTest, SumsMeansAndTheirGradients) {
  const std::vector<double> src = {1, 2, 3, 4, 5, 6};  // 2x3
  using Row = std::vector<double>;
  for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
    SCOPED_TRACE(backend);
    EXPECT_EQ(RunOn(backend, {kSum, {2, 3}, {0}}, Pass::kForward, src), (Row{5, 7, 9}));
    EXPECT_EQ(RunOn(backend, {kSum, {2, 3}, {1}, false}, Pass::kForward, src), (Row{6, 15}));
    EXPECT_EQ(RunOn(backend, {kMean, {2, 3}, {1}}, Pass::kForward, src), (Row{2, 5}));
    EXPECT_EQ(RunOn(backend, {kMean, {2, 3}, {0, 1}, false}, Pass::kForward, src), (Row{3.5}));
    EXPECT_EQ(RunOn(backend, {kSum, {2, 1, 3}, {0, 2}}, Pass::kForward, src), (Row{21}));
    EXPECT_EQ(RunOn(backend, {kSum, {2, 3}, {0}}, Pass::kBackwardData, {1, 2, 3}),
              (Row{1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(RunOn(backend, {kMean, {2, 4}, {1}, false}, Pass::kBackwardData, {4, 8}),
              (Row{1, 1, 1, 1, 2, 2, 2, 2}));
  }
}

constexpr ReduceAlgorithm kNotLinear[] = {ReduceAlgorithm::kMax,     ReduceAlgorithm::kMin,
                                          ReduceAlgorithm::kProduct, ReduceAlgorithm::kL1,
                                          ReduceAlgorithm::kL2,      ReduceAlgorithm::kSumSquare,
                                          ReduceAlgorithm::kLogSum,  ReduceAlgorithm::kLogSumExp};

// Rows that are reduced, rows that are kept, and several axes of each.
TEST(ReduceBackendsTest, EveryAlgorithmAgreesWithTheReference) {
  const std::pair<Shape, std::vector<int>> cases[] = {{{3, 7, 5}, {2}},
                                                      {{3, 7, 300}, {0}},
                                                      {{3, 2, 5, 4}, {1, 3}},
                                                      {{4, 3, 5, 2}, {0, 2}},
                                                      {{70, 700}, {0, 1}}};
  for (const ReduceAlgorithm algorithm : kNotLinear) {
    for (const auto& [shape, axes] : cases) {
      const auto op = std::make_shared<ReduceOp>(algorithm, shape, axes, false);
      EXPECT_EQ(ParseProblem("reduce/" + op->Problem())->Problem(), op->Problem());
      Values inputs = RandomInputs(*op, {}, 3);
      for (double& x : inputs[Arg::kSrc]) {  // a logarithm needs a positive sum
        x = static_cast<double>(static_cast<float>(x + (algorithm == ReduceAlgorithm::kLogSum)));
      }
      const KernelRequest request = RequestFor(op, {}, 2);
      const std::vector<double> expected = ReferenceResults(request, inputs).at(Arg::kDst);
      for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
        KernelRun run(ServingBackend(backend, request), request);
        ASSERT_NE(run.kernel(), nullptr) << op->Problem() << ": " << run.refusal();
        run.SetInputs(inputs);
        run.Run();
        EXPECT_LE(RelativeError(run.Get(Arg::kDst), expected), Tolerance(*op, {}))
            << op->Problem() << " " << backend;
      }
    }
  }
}

TEST(ReduceKnownValuesTest, ALogarithmOfExponentialsDoesNotOverflow) {
  for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
    const ReduceOp op(ReduceAlgorithm::kLogSumExp, {2, 2}, {1}, false);
    const std::vector<double> result = RunOn(backend, op, Pass::kForward, {1000, 1000, 0, 0});
    EXPECT_NEAR(result[0], 1000 + std::log(2.0), 1e-4) << backend;
    EXPECT_NEAR(result[1], std::log(2.0), 1e-6) << backend;
  }
}

std::vector<int> RandomAxes(std::mt19937_64& random, int rank) {
  std::vector<int> axes;
  while (axes.empty()) {
    for (int d = 0; d < rank; ++d) {
      if (random() % 2 == 0) axes.push_back(d);
    }
  }
  return axes;
}

TEST(ReduceBackendsTest, RandomShapesAndAxesAgreeWithTheReference) {
  constexpr std::int64_t kExtents[] = {1, 3, 16, 17, 5, 2};
  for (const std::string backend : {"onednn", "native", "eigen"}) {
    std::mt19937_64 random(41);
    int agreed = 0;
    int agreed_in_f32 = 0;
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      const int rank = 1 + static_cast<int>(random() % 5);
      std::vector<std::int64_t> extents;
      for (int d = 0; d < rank; ++d) extents.push_back(kExtents[random() % 6]);
      const auto op = std::make_shared<ReduceOp>(i % 2 == 0 ? kSum : kMean, Shape(extents),
                                                 RandomAxes(random, rank), i % 4 < 2);
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
        KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
        if (i % 3 == 2) request.execution.type = DataType::kBF16;
        if (rank == 4 && pass == Pass::kForward) {
          const char* tag = i % 3 == 0 ? "acdb" : "aBcd16b";
          if (i % 5 < 2) request.layouts[Arg::kSrc] = *Layout::Parse(tag);
        }
        const Verdict verdict = CheckAgainstReference(ServingBackend(backend, request), request,
                                                      700 + i, {.may_refuse = true});
        agreed += verdict == Verdict::kAgrees ? 1 : 0;
        if (request.execution.type == DataType::kF32) {
          agreed_in_f32 += verdict == Verdict::kAgrees ? 1 : 0;
        }
        refused += verdict == Verdict::kRefused ? 1 : 0;
      }
    }
    EXPECT_EQ(agreed + refused, 600) << backend;
    RecordProperty(std::string("refused_by_") + backend, refused);
    EXPECT_GT(agreed, backend == "native" ? 400 : 350) << refused << " refused";
    // (its bf16 needs AVX-512)
    if (backend == "onednn") {
      EXPECT_GT(agreed_in_f32, 300) << refused << " refused";
    }
  }
}

// Covers each code path of the loops: long runs, a single sum, rows of sums, several threads.
TEST(ReduceBackendsTest, LargeTensorsAgreeWithTheReference) {
  struct Case {
    Shape shape;
    std::vector<int> axes;
  };
  for (const Case& c :
       {Case{{100003}, {0}}, Case{{3, 40000}, {1}}, Case{{40000, 3}, {0}}, Case{{3, 40000}, {0}},
        Case{{8, 6, 30, 30}, {0, 2, 3}}, Case{{8, 6, 30, 30}, {1}}, Case{{30, 9, 11, 13}, {0, 2}},
        Case{{4, 9973}, {0}}}) {
    for (const ReduceAlgorithm algorithm : {kSum, kMean}) {
      const auto op = std::make_shared<ReduceOp>(algorithm, c.shape, c.axes, false);
      for (const char* backend : {"onednn", "native", "eigen"}) {
        for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
          const KernelRequest request = RequestFor(op, {pass}, 2);
          CheckAgainstReference(ServingBackend(backend, request), request, 5);
        }
      }
    }
  }
}

// The gradient of a bias has one short row of sums. Each thread sums a part of the rows in its own
// scratch memory. The scratch also has the positions of the 40,000 rows and of the sum.
TEST(ReduceBackendsTest, AllThreadsShareOneShortRowOfSums) {
  const auto op = std::make_shared<ReduceOp>(kSum, Shape{40000, 3}, std::vector{0}, false);
  const auto scratch = [&](int threads) {
    KernelRun run("native", RequestFor(op, {Pass::kForward}, threads));
    run.Run();
    return run.kernel()->scratch_bytes();
  };
  EXPECT_EQ(scratch(1), 8U * 40001);
  EXPECT_EQ(scratch(2), 8U * 40001 + 4U * 2 * 3);
}

TEST(ReduceBackendsTest, NanAndInfinityReachTheirOwnSumOnly) {
  std::vector<double> src(3 * 20, 0.5);
  src[25] = NAN;
  src[45] = HUGE_VAL;
  for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
    for (const ReduceAlgorithm algorithm : {kSum, kMean}) {
      const auto dst = RunOn(backend, {algorithm, {3, 20}, {1}}, Pass::kForward, src);
      EXPECT_EQ(dst[0], algorithm == kSum ? 10 : 0.5) << backend;
      EXPECT_TRUE(std::isnan(dst[1])) << backend;
      EXPECT_EQ(dst[2], HUGE_VAL) << backend;
    }
  }
}

// The sum of 100,000 rows of 10 elements on two threads: a row of sums for each thread, and the
// places of the rows, and of the result.
TEST(ReduceBackendsTest, ScratchIsKnownBeforePrepare) {
  const auto op = std::make_shared<ReduceOp>(kSum, Shape{100'000, 10}, std::vector<int>{0}, false);
  KernelRun run("native", RequestFor(op, {}, 2));
  EXPECT_EQ(run.kernel()->scratch_bytes(), 2u * 10 * 4 + (100'000 + 1) * 8);
  run.Set(Arg::kSrc, std::vector<double>(1'000'000, 1.0));
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), std::vector<double>(10, 100'000.0));
  EXPECT_EQ(run.kernel()->scratch_bytes(), 2u * 10 * 4 + (100'000 + 1) * 8);
}

TEST(ReduceBackendsTest, RefusalsSayWhy) {
  const auto op = std::make_shared<ReduceOp>(kSum, Shape{2, 3, 4, 5}, std::vector<int>{1}, false);
  KernelRequest request = RequestFor(op, {Pass::kForward}, 1);
  request.layouts[Arg::kDst] = Layout::ChannelsLast(3);
  EXPECT_NE(KernelRun("onednn", request).refusal().find("row-major"), std::string::npos);
  EXPECT_NE(KernelRun("native", request).refusal().find("row-major"), std::string::npos);
  request.layouts.clear();
  request.execution.type = DataType::kBF16;
  EXPECT_NE(KernelRun("native", request).refusal().find("bf16"), std::string::npos);
}

TEST(ReduceReferenceTest, GradientsAgreeWithFiniteDifferences) {
  for (const ReduceAlgorithm algorithm : {kSum, kMean}) {
    for (const std::vector<int>& axes : {std::vector<int>{0}, {1, 2}, {2}, {0, 1, 2}, {0, 2}}) {
      for (const bool keep : {false, true}) {
        CheckGradient(std::make_shared<ReduceOp>(algorithm, Shape{3, 4, 5}, axes, keep), Arg::kSrc,
                      3);
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
