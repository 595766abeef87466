// Every row of the tables of element-wise functions. The ONNX node tests check the values
// (tests/networks/onnx/node_cases_test.cc).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/check/tolerance.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// Moves random numbers of (-1, 1) into the domain of a function.
std::vector<double> InDomain(std::string_view function, std::vector<double> values) {
  for (double& value : values) {
    if (function == "acosh") value += 2.5;
    if (function == "log" || function == "sqrt" || function == "reciprocal") value += 1.5;
    if (function == "acos" || function == "asin" || function == "atanh") value *= 0.9;
  }
  return values;
}

TEST(UnaryOpTest, ProblemsAreReadBackAndWorkIsCounted) {
  for (const UnaryFunction& row : UnaryFunctions()) {
    const UnaryOp op(row.name, Shape{2, 3, 4});
    EXPECT_EQ(ParseProblem("unary/" + op.Problem())->Problem(), op.Problem());
    EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 24 * row.forward_flops);
    EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 24 * 4 * 2);
    EXPECT_EQ(op.Has({Pass::kBackwardData}), row.derivative != nullptr) << row.name;
    EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  }
  EXPECT_EQ(UnaryOp("hard_swish", Shape{8}).Problem(), "hard_swish8_alpha0.16666667_beta0.5");
  EXPECT_THROW(ParseProblem("unary/cube8"), ProblemError);
  EXPECT_THROW(ParseProblem("unary/tanh8_alpha2"), ProblemError);
  EXPECT_THROW(UnaryOp("tanh", Shape{2, 0}), std::invalid_argument);
  EXPECT_THROW(UnaryOp(*FindUnaryFunction("elu"), Shape{2}, NAN, 0), std::invalid_argument);
}

TEST(UnaryReferenceTest, GradientsAgreeWithFiniteDifferences) {
  for (const UnaryFunction& row : UnaryFunctions()) {
    SCOPED_TRACE(row.name);
    if (row.derivative == nullptr) continue;
    const std::vector<double> at = InDomain(row.name, {-0.9, -0.51, -0.2, 0.3, 0.6, 0.95});
    for (const double x : at) {
      // Other values than the defaults, so that a parameter that is not used is found.
      const double a = 0.7, b = 0.4;
      double moved = x;
      const double slope = SlopeIn(moved, [&] { return row.value(moved, a, b); });
      EXPECT_NEAR(row.derivative(x, a, b), slope, 1e-7 * (1 + std::abs(slope))) << x;
    }
  }
  CheckGradient(std::make_shared<UnaryOp>("mish", Shape{2, 3, 5}), Arg::kSrc, 1);
}

// Published values of functions without a node test (PyTorch's gelu and mish at 1 and -1).
TEST(UnaryReferenceTest, KnownValues) {
  const auto value = [](std::string_view name, double x) {
    return FindUnaryFunction(name)->value(x, 0, 0);
  };
  EXPECT_NEAR(value("gelu", 1), 0.841344746, 1e-9);
  EXPECT_NEAR(value("gelu", -1), -0.158655254, 1e-9);
  EXPECT_NEAR(FindUnaryFunction("swish")->value(1, 1, 0), 0.731058579, 1e-9);
  EXPECT_NEAR(value("gelu_tanh", 1), 0.841191991, 1e-9);
  EXPECT_NEAR(value("gelu_tanh", -1), -0.158808009, 1e-9);
  EXPECT_NEAR(value("mish", 1), 0.865098388, 1e-9);
  EXPECT_NEAR(value("mish", -1), -0.303401461, 1e-9);
}

TEST(UnaryBackendsTest, EveryFunctionAgreesWithTheReferenceAndANanStays) {
  for (const UnaryFunction& row : UnaryFunctions()) {
    const auto op = std::make_shared<UnaryOp>(row.name, Shape{2, 3, 41, 37});
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const Execution execution{pass};
      if (!op->Has(execution)) continue;
      const Values inputs = RandomInputs(*op, execution, 5);
      const Arg result = pass == Pass::kForward ? Arg::kDst : Arg::kDiffSrc;
      const std::vector<double> expected =
          ReferenceResults(RequestFor(op, execution, 2), inputs).at(result);
      // (a NaN would agree with any other)
      EXPECT_TRUE(std::ranges::all_of(expected, [](double y) { return std::isfinite(y); }))
          << row.name;
      for (const char* backend : {"reference", "native", "onednn", "eigen"}) {
        const std::string what = std::string(row.name) + " " + backend;
        const KernelRequest request = RequestFor(op, execution, 2);
        KernelRun run(ServingBackend(backend, request), request);
        ASSERT_NE(run.kernel(), nullptr) << what << ": " << run.refusal();
        run.SetInputs(inputs);
        run.Run();
        // oneDNN's vector code approximates elementary functions to some units in the last place.
        const double slack = std::string_view(backend) == "onednn" ? 8 : 1;
        EXPECT_LE(RelativeError(run.Get(result), expected), slack * Tolerance(*op, execution))
            << what;
      }
    }
    for (const char* backend : {"reference", "native"}) {
      KernelRun run(backend, RequestFor(std::make_shared<UnaryOp>(row.name, Shape{1}), {}, 1));
      run.Set(Arg::kSrc, {NAN});
      run.Run();
      EXPECT_TRUE(std::isnan(run.Get(Arg::kDst)[0])) << row.name << " " << backend;
    }
  }
}

TEST(BinaryOpTest, ExtentsAreBroadcastAndProblemsReadBack) {
  for (const BinaryFunction& row : BinaryFunctions()) {
    const BinaryOp op(row, Shape{2, 1, 4}, Shape{1, 3, 4}, BinaryConstant::kNone);
    EXPECT_EQ(op.dst(), (Shape{2, 3, 4}));
    EXPECT_EQ(ParseProblem("binary/" + op.Problem())->Problem(), op.Problem());
    EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 24 * row.flops);
    EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (8 + 12 + 24));
  }
  const BinaryOp scaled(*FindBinaryFunction("mul"), Shape{2, 3}, Shape{1, 3},
                        BinaryConstant::kSecond);
  EXPECT_EQ(scaled.Problem(), "mul2x3_by1x3_constant");
  EXPECT_EQ(scaled.Parameters().at(0).shape, (Shape{1, 3}));
  EXPECT_EQ(ParseProblem("binary/sub1x3_by2x3_of")->Parameters().at(0).shape, (Shape{1, 3}));
  EXPECT_THROW(ParseProblem("binary/mul2x3_by2x2"), ProblemError);
  EXPECT_THROW(ParseProblem("binary/mul2x3_by3"), ProblemError);
  EXPECT_THROW(ParseProblem("binary/xor2x3_by2x3"), ProblemError);
}

// A product of two images, and one by a gate for each channel; 37 and 70 channels fill no block and
// no piece.
TEST(BinaryBackendsTest, GradientsOfAProductAgreeInEveryLayout) {
  const BinaryFunction& mul = *FindBinaryFunction("mul");
  EXPECT_FALSE(BinaryOp(mul, Shape{2, 3, 5, 4}, Shape{2, 1, 5, 1}, BinaryConstant::kNone)
                   .Has({Pass::kBackwardData}));
  EXPECT_FALSE(
      BinaryOp(mul, Shape{2, 3}, Shape{2, 3}, BinaryConstant::kSecond).Has({Pass::kBackwardData}));
  EXPECT_FALSE(BinaryOp(*FindBinaryFunction("div"), Shape{2, 3}, Shape{2, 3}, BinaryConstant::kNone)
                   .Has({Pass::kBackwardData}));
  const std::pair<Shape, Shape> shapes[] = {{{2, 37, 9, 31}, {2, 37, 1, 1}},
                                            {{2, 70, 9, 5}, {2, 70, 1, 1}},
                                            {{2, 37, 9, 31}, {2, 37, 9, 31}}};
  const Execution execution{Pass::kBackwardData};
  for (const auto& [first, second] : shapes) {
    const auto op = std::make_shared<BinaryOp>(mul, first, second, BinaryConstant::kNone);
    const auto small = std::make_shared<BinaryOp>(
        mul, Shape{2, 3, 5, 4}, first == second ? Shape{2, 3, 5, 4} : Shape{2, 3, 1, 1},
        BinaryConstant::kNone);
    CheckGradient(small, IndexedSrc(0), 1);
    CheckGradient(small, IndexedSrc(1), 2);
    EXPECT_EQ(op->WorkOf(Pass::kBackwardData, DataType::kF32).flops,
              3 * first.elements() - second.elements());
    const Values inputs = RandomInputs(*op, execution, 5);
    const auto expected = ReferenceResults(RequestFor(op, execution, 2), inputs);
    for (const char* backend : {"native", "eigen"}) {
      for (const char* layout : {"abcd", "acdb", "aBcd16b", "aBcd8b"}) {
        KernelRequest request = RequestFor(op, execution, 2);
        request.layouts[Arg::kDiffDst] = *Layout::Parse(layout);
        KernelRun run(backend, request);
        ASSERT_NE(run.kernel(), nullptr) << backend << layout << ": " << run.refusal();
        EXPECT_EQ(run.DescOf(IndexedDiffSrc(0)).layout, *Layout::Parse(layout));
        run.SetInputs(inputs);
        run.Run();
        for (const Arg result : {IndexedDiffSrc(0), IndexedDiffSrc(1)}) {
          EXPECT_LE(RelativeError(run.Get(result), expected.at(result)), Tolerance(*op, execution))
              << backend << " " << layout << " " << NameOf(result);
        }
      }
    }
  }
}

// The gradient of a trained factor sums over the images.
TEST(BinaryBackendsTest, GradientsOfATrainedFactorAgreeInEveryLayout) {
  const BinaryFunction& mul = *FindBinaryFunction("mul");
  const BinaryConstant trained = BinaryConstant::kTrained;
  EXPECT_THROW(BinaryOp(mul, Shape{2, 3, 5, 4}, Shape{2, 3, 1, 1}, trained), std::invalid_argument);
  EXPECT_THROW(BinaryOp(mul, Shape{2, 3, 5, 4}, Shape{1, 1, 1, 4}, trained), std::invalid_argument);
  EXPECT_THROW(BinaryOp(*FindBinaryFunction("add"), Shape{2, 3}, Shape{1, 3}, trained),
               std::invalid_argument);
  const auto known = ParseProblem("binary/mul2x1x1x2_by1x1x1x1_trained");
  EXPECT_EQ(known->Problem(), "mul2x1x1x2_by1x1x1x1_trained");
  for (const char* backend : {"reference", "native", "eigen"}) {
    KernelRun run(backend, RequestFor(known, {Pass::kBackwardData}, 1));
    run.Set(Arg::kSrc, {1, 2, 3, 4});
    run.Set(Arg::kWeights, {10});
    run.Set(Arg::kDiffDst, {1, 0, 2, 3});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDiffSrc), (std::vector<double>{10, 0, 20, 30})) << backend;
    EXPECT_EQ(run.Get(Arg::kDiffWeights), std::vector<double>{1 + 6 + 12}) << backend;
  }
  const auto small = std::make_shared<BinaryOp>(mul, Shape{2, 3, 5, 4}, Shape{1, 3, 1, 1}, trained);
  CheckGradient(small, Arg::kSrc, 1);
  CheckGradient(small, Arg::kWeights, 2);
  for (const std::int64_t channels : {37, 70}) {
    const auto op = std::make_shared<BinaryOp>(mul, Shape{3, channels, 9, 31},
                                               Shape{1, channels, 1, 1}, trained);
    for (const char* backend : {"native", "eigen"}) {
      for (const char* layout : {"abcd", "acdb", "aBcd16b", "aBcd8b"}) {
        for (const DataType type : {DataType::kF32, DataType::kBF16}) {
          if (type == DataType::kBF16 && std::string(backend) == "eigen") continue;
          KernelRequest request = RequestFor(op, {Pass::kBackwardData, true, type}, 2);
          request.layouts[Arg::kDiffDst] = *Layout::Parse(layout);
          EXPECT_EQ(CheckAgainstReference(backend, request, 5), Verdict::kAgrees)
              << backend << " " << layout;
        }
      }
    }
  }
}

// The shapes have rows of each kind: complete in both tensors, in one, and cut in pieces.
TEST(BinaryBackendsTest, EveryFunctionAgreesWithTheReference) {
  const std::pair<Shape, Shape> shapes[] = {{{2, 3, 41, 37}, {2, 3, 41, 37}},
                                            {{2, 3, 41, 37}, {1, 3, 1, 1}},
                                            {{1, 3, 1, 1}, {2, 3, 41, 37}},
                                            {{2, 3, 41, 1}, {2, 1, 1, 37}},
                                            {{2, 3, 1}, {1, 1, 1}}};
  for (const BinaryFunction& row : BinaryFunctions()) {
    for (const auto& [first, second] : shapes) {
      for (const BinaryConstant constant :
           {BinaryConstant::kNone, BinaryConstant::kFirst, BinaryConstant::kSecond}) {
        const auto op = std::make_shared<BinaryOp>(row, first, second, constant);
        const KernelRequest request = RequestFor(op, {}, 2);
        Values inputs = RandomInputs(*op, {}, 7);
        for (auto& [arg, values] : inputs) {  // a power needs a positive base
          for (double& x : values) {
            x = static_cast<double>(static_cast<float>(x + (row.name == "pow" ? 1.5 : 0.0)));
          }
        }
        const std::vector<double> expected = ReferenceResults(request, inputs).at(Arg::kDst);
        for (const char* backend : {"reference", "native", "onednn", "eigen"}) {
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
}

}  // namespace
}  // namespace topdnn
