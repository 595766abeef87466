// The comparison of a kernel's results with the reference: results that are right although they
// differ from the sums in f64, and results that are just wrong.

#include "kernels/check/kernel_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// A kernel whose results the test gives.
class GivenResults : public Kernel {
 public:
  explicit GivenResults(const KernelProblem& problem)
      : Kernel(RequestFor(problem.op(), problem.execution(), 1)) {}
  void Prepare(const std::map<Arg, void*>& /*memory*/) override {}
  void Run() noexcept override {}
};

bool Agrees(const KernelProblem& problem, const std::vector<double>& results, Arg arg = Arg::kDst) {
  const GivenResults kernel(problem);
  const Tensor memory(kernel.Find(arg)->desc);
  FromDouble(results, memory.desc(), memory.data());
  return CompareWithReference(problem, kernel, {{arg, memory.data()}}, "native", "").agrees;
}

// The results with one of them changed.
std::vector<double> With(std::vector<double> results, std::size_t at, double change) {
  results[at] += change;
  return results;
}

KernelProblem ProblemOf(const std::string& problem, DataType type = DataType::kF32) {
  return {ParseProblem(problem), {Pass::kForward, false, type}};
}

TEST(KernelProblemTest, AFractionIsStoredAsAWholeNumber) {
  for (const char* text : {"conv/n1c16h8w8k16r1s1_leakyrelu", "gemm/m64n64k64_alpha0.5"}) {
    const KernelProblem problem = ProblemOf(text, DataType::kU8);
    const std::vector<double>& exact = problem.expected().front().values;
    const auto with_fraction =
        std::ranges::find_if(exact, [](double x) { return std::abs(x - std::nearbyint(x)) > 0.2; });
    const auto whole =
        std::ranges::find_if(exact, [](double x) { return x == std::nearbyint(x) && x > 9; });
    ASSERT_NE(with_fraction, exact.end()) << text;
    ASSERT_NE(whole, exact.end()) << text;
    std::vector<double> stored = exact;
    for (double& x : stored) x = std::nearbyint(x);
    EXPECT_TRUE(Agrees(problem, stored)) << text;
    for (const auto& changed : {with_fraction, whole}) {
      const auto at = static_cast<std::size_t>(changed - exact.begin());
      const double away = stored[at] < exact[at] ? -1 : 1;
      EXPECT_FALSE(Agrees(problem, With(stored, at, away))) << text;
    }
  }
}

// Products of three whole numbers up to 1000, of which f32 represents those up to 2^24.
TEST(KernelProblemTest, AnExactResultIsRoundedToItsType) {
  const KernelProblem problem = ProblemOf("integer_steps/1x4x8x8_steps33_channels4");
  const std::vector<double>& src = problem.inputs().at(Arg::kSrc);
  const std::vector<double>& factors = problem.inputs().at(Arg::kWeights);  // (2, 4)
  std::vector<double> products;
  for (std::size_t i = 0; i < src.size(); ++i) {
    products.push_back(src[i] * factors[i / 64] * factors[4 + i / 64]);
  }
  const auto largest =
      static_cast<std::size_t>(std::ranges::max_element(products) - products.begin());
  ASSERT_GT(products[largest], 0x1p25);
  EXPECT_TRUE(Agrees(problem, products));
  EXPECT_FALSE(Agrees(problem, With(products, largest, 0x1p-22 * products[largest])));
}

// The gradient of the weights of a product in bf16 is f32: an error of bf16's size is wrong.
TEST(KernelProblemTest, AResultHasTheRoundingOfItsOwnType) {
  const KernelProblem problem(ParseProblem("gemm/m4n4k3"),
                              {Pass::kBackwardWeights, true, DataType::kBF16});
  const std::vector<double>& exact = problem.expected().front().values;
  EXPECT_TRUE(Agrees(problem, exact, Arg::kDiffWeights));
  const double error = 0x1p-8 * *std::ranges::max_element(exact);
  const auto at = static_cast<std::size_t>(std::ranges::max_element(exact) - exact.begin());
  EXPECT_FALSE(Agrees(problem, With(exact, at, error), Arg::kDiffWeights));
}

// The sum of numbers of both signs is far below the sum of their magnitudes, to which the rounding
// errors are relative.
TEST(KernelProblemTest, TermsThatCancelAreComparedByTheirMagnitude) {
  const KernelProblem problem = ProblemOf("reduce/sum54x503_ab");
  const std::vector<double>& src = problem.inputs().at(Arg::kSrc);
  float in_f32 = 0;
  double magnitude = 0;
  for (const double x : src) {
    in_f32 += static_cast<float>(x);
    magnitude += std::abs(x);
  }
  EXPECT_NEAR(problem.MagnitudeOf(Arg::kDst), magnitude, 1e-9 * magnitude);
  const auto sum = static_cast<double>(in_f32);
  const double exact = std::accumulate(src.begin(), src.end(), 0.0);
  ASSERT_GT(std::abs(sum - exact), 4e-5 * std::abs(exact));
  EXPECT_TRUE(Agrees(problem, {sum}));
  EXPECT_FALSE(Agrees(problem, {exact + 1e-4 * magnitude}));
}

// One product of vectors, by hand. Copies and exact integers have no rounding errors.
TEST(KernelProblemTest, AMagnitudeIsTheSumOfTheTermsMagnitudes) {
  const KernelProblem problem = ProblemOf("gemm/m1n1k3");
  const std::vector<double>& a = problem.inputs().at(Arg::kSrc);
  const std::vector<double>& b = problem.inputs().at(Arg::kWeights);
  double magnitude = 0;
  for (std::size_t i = 0; i < 3; ++i) magnitude += std::abs(a[i] * b[i]);
  EXPECT_DOUBLE_EQ(problem.MagnitudeOf(Arg::kDst), magnitude);
  EXPECT_EQ(ProblemOf("relu/3x4").MagnitudeOf(Arg::kDst), 0);
  EXPECT_EQ(ProblemOf("gemm/m1n1k3", DataType::kU8).MagnitudeOf(Arg::kDst), 0);
}

}  // namespace
}  // namespace topdnn
