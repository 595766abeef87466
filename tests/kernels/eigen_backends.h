// Tests of the Eigen backends with every ISA of this CPU:
//
//   class PoolEigenTest : public EigenBackendTest {};
//   TEST_P(PoolEigenTest, ...) { ... }
//   INSTANTIATE_TEST_SUITE_P(Backends, PoolEigenTest, EigenBackendTest::All(),
//                            EigenBackendTest::NameOf);

#ifndef TOPDNN_TESTS_KERNELS_EIGEN_BACKENDS_H_
#define TOPDNN_TESTS_KERNELS_EIGEN_BACKENDS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/activation/relu.h"
#include "kernels/kernel/variant.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {

class EigenBackendTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 public:
  // Every backend with every ISA that a library exists for.
  static auto All() {
#if defined(__aarch64__)
    const auto isas = testing::Values("neon");
#else
    const auto isas = testing::Values("sse2", "avx2", "avx512");
#endif
    return testing::Combine(testing::Values("eigen", "eigen-sgemm"), isas);
  }
  // "gebp_avx2".
  static std::string NameOf(
      const testing::TestParamInfo<std::tuple<std::string, std::string>>& tested) {
    return (std::get<0>(tested.param) == "eigen" ? "gebp_" : "sgemm_") + std::get<1>(tested.param);
  }

 protected:
  void SetUp() override {
    const KernelRun probe(backend(), Asking(std::make_shared<ReluOp>(Shape{1, 1}), {}, 1));
    if (probe.kernel() == nullptr) {
      EXPECT_THAT(probe.refusal(), testing::AnyOf(testing::HasSubstr("this CPU does not support"),
                                                  testing::HasSubstr("this build has no")));
      GTEST_SKIP() << probe.refusal();
    }
  }

  std::string backend() const { return std::get<0>(GetParam()); }
  std::string isa() const { return std::get<1>(GetParam()); }

  KernelRequest Asking(std::shared_ptr<const Op> op, const Execution& execution,
                       int threads) const {
    KernelRequest request = RequestFor(std::move(op), execution, threads);
    request.isa = isa();
    return request;
  }

  // For the kernel of the variant eigen-rows.
  KernelRequest AskingByRows(std::shared_ptr<const Op> op, const Execution& execution,
                             int threads) const {
    KernelRequest request = Asking(std::move(op), execution, threads);
    request.algorithm = FindVariant("eigen-rows")->algorithm;
    return request;
  }

  Verdict Check(const KernelRequest& request, std::uint64_t seed,
                const CheckOptions& options = {}) const {
    return CheckAgainstReference(backend(), request, seed, options);
  }

  // Checks every pass of the operation on one and on two threads.
  void CheckPasses(const std::shared_ptr<const Op>& op, std::uint64_t seed) const {
    for (const Pass pass : kAllPasses) {
      if (!op->Has({pass})) continue;
      for (const int threads : {1, 2}) {
        EXPECT_EQ(Check(Asking(op, {pass}, threads), seed), Verdict::kAgrees);
      }
    }
  }
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_EIGEN_BACKENDS_H_
