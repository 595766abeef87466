// The exact counter on kernels: the results equal those of a native run bit for bit, and the FLOPs
// equal those known from the shapes, on one thread and on two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/validation/kernel_validation.h"
#include "harness/exact/counter.h"
#include "kernels/check/random_inputs.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/pool/pool.h"
#include "kernels/reorder/store.h"

namespace topdnn {
namespace {

using Bytes = std::vector<std::byte>;

// The results of a kernel with operands from a seed, run natively or translated.
class Prepared {
 public:
  Prepared(std::unique_ptr<Kernel> kernel, const KernelRequest& request, const std::string& backend)
      : kernel_(std::move(kernel)) {
    const Values inputs = RandomInputs(*request.op, request.execution, 7);
    std::map<Arg, void*> bound;
    for (const KernelOperand& operand : kernel_->operands()) {
      AlignedMemory memory(operand.desc.bytes());
      std::memset(memory.data(), 0, operand.desc.bytes());
      const auto values = inputs.find(operand.arg);
      if (operand.direction != Direction::kOut && values != inputs.end()) {
        StoreValues(values->second, operand.desc, memory.data(), backend);
      }
      bound[operand.arg] = memory.data();
      memory_.push_back(std::move(memory));
    }
    kernel_->Prepare(bound);
  }

  void Run() { kernel_->Run(); }
  Bytes Results() const {
    Bytes results;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const KernelOperand& operand = kernel_->operands()[i];
      if (operand.direction == Direction::kIn) continue;
      results.insert(results.end(), memory_[i].data(), memory_[i].data() + operand.desc.bytes());
    }
    return results;
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<AlignedMemory> memory_;
};

std::map<std::string, std::shared_ptr<const Op>> Ops() {
  ConvExtents conv;
  conv.n = 2;
  conv.c = 20;
  conv.k = 17;
  conv.h = conv.w = 13;
  conv.r = conv.s = 3;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
  PoolExtents pool{.n = 2, .c = 8, .h = 14, .w = 14, .r = 2, .s = 2, .stride_h = 2, .stride_w = 2};
  return {{"conv", std::make_shared<ConvOp>(conv)},
          {"gemm", std::make_shared<GemmOp>(GemmExtents{.m = 70, .n = 45, .k = 33})},
          {"pool", std::make_shared<PoolOp>(PoolAlgorithm::kAverage, pool)}};
}

class ExactOnKernel
    : public testing::TestWithParam<std::tuple<std::string, std::string, Pass, int>> {};

TEST_P(ExactOnKernel, GivesTheNativeResultBitForBit) {
  const auto& [kind, backend, pass, threads] = GetParam();
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  KernelRequest request;
  request.op = Ops().at(kind);
  request.execution = {pass, true, DataType::kF32};
  request.threads = threads;
  if (!request.op->Has(request.execution)) GTEST_SKIP() << "there is no such pass";
  const auto make = [&]() -> std::unique_ptr<Prepared> {
    const std::string serving = ServingBackend(backend, request);
    KernelOrRefusal made = MakeKernel(serving, request);
    auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&made);
    if (kernel == nullptr) return nullptr;
    return std::make_unique<Prepared>(std::move(*kernel), request, serving);
  };
  const ThreadWidth width(threads);
  const auto native = make();
  const auto translated = make();
  if (native == nullptr) GTEST_SKIP() << backend << " refuses it";
  native->Run();
  auto region = [&] { translated->Run(); };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_LE(counts.threads, threads);
  EXPECT_GT(counts.flops(), 0U);
  EXPECT_EQ(native->Results(), translated->Results());
  // Later counts, of code that is already translated, give equal FLOPs.
  translated->Run();
  const std::uint64_t flops = ExactCounter::Count(region).flops();
  EXPECT_EQ(ExactCounter::Count(region).flops(), flops);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ExactOnKernel,
                         testing::Combine(testing::Values("conv", "gemm", "pool"),
                                          testing::Values("onednn", "openblas", "reference"),
                                          testing::Values(Pass::kForward, Pass::kBackwardData,
                                                          Pass::kBackwardWeights),
                                          testing::Values(1, 2)),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" + std::get<1>(one.param) + "_" +
                                  std::string(NameOf(std::get<2>(one.param))) + "_t" +
                                  std::to_string(std::get<3>(one.param));
                         });

// oneDNN generates the kernel's code inside the region and runs it there.
TEST(ExactOnJit, AKernelMadeInsideTheRegion) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  for (const int threads : {1, 2}) {
    const ThreadWidth width(threads);
    KernelRequest request;
    request.op = Ops().at("conv");
    request.execution = {Pass::kForward, true, DataType::kF32};
    request.threads = threads;
    Bytes results[2];
    Bytes* into = results;
    auto region = [&] {
      KernelOrRefusal made = MakeKernel("onednn", request);
      Prepared prepared(std::get<std::unique_ptr<Kernel>>(std::move(made)), request, "onednn");
      prepared.Run();
      *into++ = prepared.Results();
    };
    region();
    const ExactCounts counts = ExactCounter::Count(region);
    EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
    EXPECT_EQ(results[0], results[1]);
  }
}

// Sources, and what the addition reads and writes, in elements of the result.
struct Addition {
  int sources, reads, writes;
};

class EigenAddition : public testing::TestWithParam<Addition> {};

TEST_P(EigenAddition, GroupsItsSourcesAsTensorFlow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "an instrumented build executes other instructions";
#endif
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  constexpr int kElements = 1 << 16;
  KernelRequest request;
  request.op = std::make_shared<AddOp>(Shape{kElements / 64, 64}, GetParam().sources);
  request.execution = {Pass::kForward, true, DataType::kF32};
  request.threads = 1;
  const ThreadWidth width(1);
  KernelOrRefusal made = MakeKernel("eigen", request);
  if (std::holds_alternative<Refusal>(made)) GTEST_SKIP() << std::get<Refusal>(made).reason;
  Prepared kernel(std::get<std::unique_ptr<Kernel>>(std::move(made)), request, "eigen");
  kernel.Run();
  LetPoolsPark();
  auto region = [&] { kernel.Run(); };
  const ExactCounts counts = ExactCounter::Count(region);
  ASSERT_TRUE(counts.complete) << counts.incomplete_reason;
  // The call and the loops themselves take some more.
  constexpr double kBytes = 4.0 * kElements;
  EXPECT_NEAR(static_cast<double>(counts.load_bytes) / kBytes, GetParam().reads, 0.3);
  EXPECT_NEAR(static_cast<double>(counts.store_bytes) / kBytes, GetParam().writes, 0.3);
}

// AddN: nine sources are one expression; of ten, two are the first, and eight are added to it.
INSTANTIATE_TEST_SUITE_P(Sources, EigenAddition,
                         testing::Values(Addition{2, 2, 1}, Addition{8, 8, 1}, Addition{9, 9, 1},
                                         Addition{10, 11, 2}, Addition{18, 20, 3}),
                         [](const auto& one) { return std::to_string(one.param.sources); });

// The process for an ISA level writes the cases so far if it is interrupted.
TEST(CasesOfLevelTest, AnEarlyEndIsAnInvalidCaseWithTheReason) {
  ValidationCase good;
  good.name = "conv";
  good.quantity = "flops";
  good.verdict = Status::kOk;
  nlohmann::ordered_json json = {{"schema", 1}};
  json["cases"] = nlohmann::ordered_json::array();
  json["cases"].push_back(ToJson(good));
  for (const int status : {kExitGood, kExitWrong, kExitNothing}) {
    const auto complete = CasesOfLevel("AVX2", json.dump(), status);
    ASSERT_EQ(complete.size(), 1U);
    EXPECT_EQ(complete[0].name, "conv (at most AVX2)");
  }
  const auto partial = CasesOfLevel("AVX2", json.dump(), kExitInterrupted);
  ASSERT_EQ(partial.size(), 2U);
  EXPECT_EQ(partial[0].verdict, Status::kOk);
  EXPECT_EQ(partial[1].verdict, Status::kInvalid);
  EXPECT_THAT(partial[1].reason, testing::HasSubstr("partial: "));
  EXPECT_THAT(partial[1].reason, testing::HasSubstr("exit status 130"));
  const auto none = CasesOfLevel("AVX2", "", 128 + 9);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].verdict, Status::kInvalid);
  EXPECT_THAT(none[0].reason, testing::HasSubstr("exit status 137"));
}

class ValidateKernelsAt : public testing::TestWithParam<int> {};

TEST_P(ValidateKernelsAt, EveryCaseAgreesOrIsSkippedWithTheReason) {
  std::unique_ptr<CounterSource> exact;
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name == "exact" && offer.probe().works) exact = offer.open();
  }
  if (exact == nullptr) GTEST_SKIP() << "the exact counter does not work here";
  int agree = 0;
  for (const ValidationCase& c :
       ValidateKernels({exact.get(), nullptr}, Backends(), GetParam(), [](std::string_view) {})) {
    if (c.verdict == Status::kSkipped) {
      EXPECT_NE(c.reason, "") << c.name;
      continue;
    }
    EXPECT_EQ(c.verdict, Status::kOk) << c.name << ": " << c.reason;
    ++agree;
  }
  EXPECT_GE(agree, 8);
}

INSTANTIATE_TEST_SUITE_P(Threads, ValidateKernelsAt, testing::Values(1, 2));

}  // namespace
}  // namespace topdnn
