#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>

#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

GemmExtents RandomExtents(std::mt19937_64& random) {
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr float kFactors[] = {1.0F, 0.5F, -2.0F};
  GemmExtents e;
  e.m = upto(70);
  e.n = upto(70);
  e.k = upto(140);
  e.batch = random() % 3 == 0 ? upto(4) : 1;
  e.trans_a = random() % 2 == 0;
  e.trans_b = random() % 2 == 0;
  e.alpha = kFactors[random() % 3];
  e.beta = random() % 2 == 0 ? 0.0F : kFactors[random() % 3];
  return e;
}

// The sums of |terms|. On absolute inputs the reference would subtract a term with a negative
// factor.
Values MagnitudesOf(const GemmExtents& e, const KernelRequest& request, std::uint64_t seed) {
  GemmExtents absolute = e;
  absolute.alpha = std::abs(e.alpha);
  absolute.beta = std::abs(e.beta);
  KernelRequest of_absolute = request;
  of_absolute.op = std::make_shared<GemmOp>(absolute);
  return ReferenceResults(of_absolute,
                          Magnitudes(RandomInputs(*request.op, request.execution, seed)));
}

TEST(GemmOpTest, KnownProduct) {
  // [1 2; 3 4] * [5 6; 7 8] = [19 22; 43 50]; the result is half of it plus twice C.
  const GemmExtents e{.m = 2, .n = 2, .k = 2, .alpha = 0.5F, .beta = 2.0F};
  for (const std::string backend : {"reference", "onednn", "openblas", "eigen", "eigen-sgemm"}) {
    KernelRun run(backend, RequestFor(std::make_shared<GemmOp>(e), {}, 1));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    run.SetInputs(
        {{Arg::kSrc, {1, 2, 3, 4}}, {Arg::kWeights, {5, 6, 7, 8}}, {Arg::kDst, {1, 2, 3, 4}}});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{11.5, 15, 27.5, 33})) << backend;
  }
}

TEST(GemmOpTest, WorkAndProblem) {
  const GemmOp op({.m = 3, .n = 5, .k = 7, .batch = 2, .trans_a = true});
  EXPECT_EQ(op.Problem(), "b2m3n5k7_ta");
  for (const Pass pass : kAllPasses) {
    const Work work = op.WorkOf(pass, DataType::kF32);
    EXPECT_EQ(work.macs, 210);
    EXPECT_EQ(work.flops, 420);
    EXPECT_EQ(work.bytes, 4 * 2 * (21 + 35 + 15));
  }
  EXPECT_EQ(op.AccumulationLength(Pass::kForward), 7);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardData), 5);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardWeights), 3);
}

TEST(GemmOpTest, ImpossibleExtentsAreRefused) {
  EXPECT_THROW(GemmOp({.m = 0}), std::invalid_argument);
  EXPECT_THROW(GemmOp({.m = 1, .alpha = INFINITY}), std::invalid_argument);
  EXPECT_THROW(GemmOp({.m = 1LL << 40, .n = 1LL << 40}), std::invalid_argument);
  // 2^60 products are counted, and 2^62 are not.
  EXPECT_NO_THROW(GemmOp({.m = 1 << 20, .n = 1 << 20, .k = 1 << 20}));
  EXPECT_THROW(GemmOp({.m = 1 << 20, .n = 1 << 20, .k = 1 << 20, .batch = 4}),
               std::invalid_argument);
}

class GemmBackendTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GemmBackendTest, AgreesWithTheReferenceOnRandomProblems) {
  std::mt19937_64 random(20260722);
  for (int i = 0; i < 40; ++i) {
    const GemmExtents e = RandomExtents(random);
    const auto op = std::make_shared<GemmOp>(e);
    for (const Pass pass : kAllPasses) {
      const KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
      CheckOptions options;
      options.magnitudes = MagnitudesOf(e, request, i);
      CheckAgainstReference(GetParam(), request, i, options);
    }
  }
}

TEST_P(GemmBackendTest, WithBetaZeroANanInCIsIgnored) {
  KernelRun run(GetParam(),
                RequestFor(std::make_shared<GemmOp>(GemmExtents{.m = 20, .n = 20, .k = 3}), {}, 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.SetInputs(RandomInputs(GemmOp({.m = 20, .n = 20, .k = 3}), {}, 1));
  run.Set(Arg::kDst, std::vector<double>(400, NAN));
  run.Run();
  for (const double value : run.Get(Arg::kDst)) EXPECT_FALSE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(Backends, GemmBackendTest,
                         ::testing::Values("reference", "onednn", "openblas", "eigen",
                                           "eigen-sgemm"));

TEST(GemmTest, OneDnnAgreesInBf16AndInt8) {
  std::mt19937_64 random(20260723);
  int ran = 0;
  for (int i = 0; i < 40; ++i) {
    GemmExtents e = RandomExtents(random);
    e.alpha = 1.0F;
    e.beta = 0.0F;
    const auto op = std::make_shared<GemmOp>(e);
    for (const DataType type : {DataType::kBF16, DataType::kS8, DataType::kU8}) {
      for (const Pass pass : kAllPasses) {
        if (!op->Has({pass, true, type})) continue;
        CheckOptions options;
        options.may_refuse = true;
        const Verdict verdict =
            CheckAgainstReference("onednn", RequestFor(op, {pass, true, type}, 1), i, options);
        ran += verdict == Verdict::kRefused ? 0 : 1;
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has neither bf16 nor int8 on this CPU";
}

}  // namespace
}  // namespace topdnn
