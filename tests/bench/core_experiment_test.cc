// The experiment on data in L1: kernels run redirected leave their results right, and `profile
// --experiment core` gives each stage a result or the reason why there is none.

#include "harness/experiments/core_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "harness/exact/counter.h"
#include "harness/exact/translated_run.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

#define SKIP_WITHOUT_THE_COUNTER()                                                        \
  if (kInstrumented) GTEST_SKIP() << "an instrumented build executes other instructions"; \
  if (const Availability can = ExactCounter::Probe(); !can.works) GTEST_SKIP() << can.reason

struct Redirected {
  const char* variant;
  const char* problem;
  Pass pass;
};

// The name of a test.
void PrintTo(const Redirected& r, std::ostream* out) {
  *out << r.variant << " " << r.problem << " " << NameOf(r.pass);
}

// Makes the calling thread's allocations take the same path in each run, whatever was allocated and
// freed before: small blocks come from glibc's cache of the thread, which holds 7 blocks of each
// size up to 1,032 bytes once they were freed, and each larger block is mapped.
class SteadyAllocator {
 public:
  SteadyAllocator() { mallopt(M_MMAP_THRESHOLD, 1033); }
  ~SteadyAllocator() { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }  // glibc's default
  SteadyAllocator(const SteadyAllocator&) = delete;
  SteadyAllocator& operator=(const SteadyAllocator&) = delete;

  void Fill() const {
    for (std::size_t size = 8; size <= 1032; size += 16) {
      std::array<std::unique_ptr<char[]>, 7> blocks;
      for (auto& block : blocks) block = std::make_unique_for_overwrite<char[]>(size);
    }
  }
};

class RedirectedKernel : public testing::TestWithParam<Redirected> {};

// Redirected it executes the same instructions and leaves its operands as they are, except for what
// is not redirected, and the next native run is right.
TEST_P(RedirectedKernel, ResultsAreRightAfterwards) {
  SKIP_WITHOUT_THE_COUNTER();
  const auto& [variant, text, pass] = GetParam();
  const KernelProblem problem(ParseProblem(text), {pass, true, DataType::kF32});
  const ThreadWidth width(1);
  auto made = KernelCase::Make(*FindVariant(variant), problem, 1);
  if (auto* refusal = std::get_if<Refusal>(&made)) GTEST_SKIP() << refusal->reason;
  const auto kernel = std::get<std::unique_ptr<KernelCase>>(std::move(made));
  std::vector<std::vector<std::byte>> inputs;  // updates write to theirs
  for (const auto& operand : kernel->OperandMemory()) {
    inputs.emplace_back(operand.begin(), operand.end());
  }
  ASSERT_TRUE(kernel->Check(problem).agrees);
  // The stack is always at the same place of a page, because glibc executes some instructions more
  // for a string near the end of one.
  auto run = [&kernel] {
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 4096;
    asm volatile("" : : "r"(__builtin_alloca(place)));
    kernel->Run();
  };
  const Action action = Action::Of(run);
  const std::vector<std::span<const std::byte>> memory = kernel->OperandMemory();
  const SteadyAllocator allocator;
  LearnOperands(action.function, action.context, memory);
  allocator.Fill();
  const LearnedRegion learned = LearnOperands(action.function, action.context, memory);
  std::vector<std::vector<std::byte>> before;
  for (const auto& operand : memory) before.emplace_back(operand.begin(), operand.end());
  allocator.Fill();
  const ExactCounts redirected =
      CountRedirected(action.function, action.context, learned.redirection);
  EXPECT_EQ(RunUncounted(action.function, action.context, &learned.redirection, BestClock().now),
            "");
  // (what integer and string instructions write is not redirected: edges of products, Adam's count)
  for (std::size_t k = 0; k < memory.size() && learned.redirection.kept_bytes == 0; ++k) {
    EXPECT_TRUE(std::equal(before[k].begin(), before[k].end(), memory[k].begin())) << k;
  }
  // Without allocations of over 1,032 bytes, the two counts are equal. With them, each differs from
  // run to run by some hundred instructions (a merge of free blocks), and by what was freed before
  // it: counting frees other blocks than learning does. So each is counted after each, until the
  // two ranges overlap.
  std::vector<double> native = {static_cast<double>(learned.counts.instructions)};
  std::vector<double> in_l1 = {static_cast<double>(redirected.instructions)};
  auto overlap = [&native, &in_l1] {
    return std::ranges::min(in_l1) <= std::ranges::max(native) &&
           std::ranges::max(in_l1) >= std::ranges::min(native);
  };
  for (int k = 0; k < 40 && !overlap(); ++k) {
    for (int twice = 0; twice < 2; ++twice) {
      allocator.Fill();
      const auto again = LearnOperands(action.function, action.context, memory).counts;
      native.push_back(static_cast<double>(again.instructions));
    }
    for (int twice = 0; twice < 2; ++twice) {
      allocator.Fill();
      const auto again = CountRedirected(action.function, action.context, learned.redirection);
      in_l1.push_back(static_cast<double>(again.instructions));
    }
  }
  EXPECT_TRUE(overlap()) << native.front() << " natively, redirected " << in_l1.front();
  EXPECT_EQ(redirected.flops(), learned.counts.flops());
  EXPECT_GT(learned.redirection.redirected_bytes, 0);
  for (std::size_t k = 0; k < memory.size(); ++k) {
    std::copy(inputs[k].begin(), inputs[k].end(), const_cast<std::byte*>(memory[k].data()));
  }
  const CaseCheck check = kernel->Check(problem);
  EXPECT_TRUE(check.agrees) << check.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RedirectedKernel,
    testing::Values(
        Redirected{"onednn", "conv/n1c16h12w12k32r3s3u1v1p1q1_bias_relu", Pass::kForward},
        Redirected{"onednn", "conv/n1c16h12w12k32r3s3u1v1p1q1", Pass::kBackwardData},
        Redirected{"onednn", "conv/n1c16h12w12k32r3s3u1v1p1q1", Pass::kBackwardWeights},
        Redirected{"onednn", "conv/n1c3h13w13k17r3s3u2v2p1q1", Pass::kForward},
        Redirected{"onednn", "pool/maxn1c16h14w14r3s3u2v2p1q1", Pass::kForward},
        Redirected{"onednn", "pool/averagen1c16h14w14r2s2u2v2p0q0", Pass::kBackwardData},
        Redirected{"onednn", "relu/1x16x14x14", Pass::kForward},
        Redirected{"onednn", "relu/1x16x14x14", Pass::kBackwardData},
        Redirected{"onednn", "batchnorm/2x16x12x12", Pass::kForward},
        Redirected{"onednn", "batchnorm/2x16x12x12", Pass::kBackwardData},
        Redirected{"onednn", "gemm/m48n40k33", Pass::kForward},
        Redirected{"native", "adam/n1000", Pass::kForward},
        Redirected{"native", "sgd/n1000_momentum0.9", Pass::kForward},
        Redirected{"eigen", "relu/1x16x14x14", Pass::kForward},
        Redirected{"eigen", "gemm/m48n40k33", Pass::kForward},
        Redirected{"eigen", "batchnorm/2x16x12x12", Pass::kForward},
        Redirected{"openblas", "gemm/m48n40k33", Pass::kForward},
        Redirected{"openblas", "conv/n1c16h12w12k32r3s3u1v1p1q1", Pass::kForward}));

TEST(CoreExperiment, EveryStageHasAResultOrAReason) {
  SKIP_WITHOUT_THE_COUNTER();
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome =
      RunProgram({"profile", "cnn", "--train", "--batch", "8", "--data", "synthetic", "--seconds",
                  "0.1", "--counters", "none", "--experiment", "core", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json report = ReadJson(file);
  int measured = 0;
  for (const nlohmann::json& stage : report.at("stages")) {
    const nlohmann::json& core = stage.at("core");
    if (core.is_null()) {
      EXPECT_TRUE(stage.at("core_reason").is_string()) << stage;
      continue;
    }
    ++measured;
    EXPECT_TRUE(stage.at("core_reason").is_null());
    EXPECT_GE(core.at("beyond_l1").at(0).get<double>(), 0);
    if (!core.at("delivery_seconds").is_null()) {
      EXPECT_GT(core.at("delivery_seconds").get<double>(), 0);
    }
    EXPECT_LE(core.at("beyond_l1").at(1).get<double>(), 1);
    EXPECT_GT(core.at("core_seconds").at(1).get<double>(), 0);
    for (const char* key : {"native_seconds", "translated_seconds", "redirected_seconds"}) {
      EXPECT_GT(core.at(key).get<double>(), 0) << key;
    }
  }
  EXPECT_GT(measured, 0);
  EXPECT_THAT(outcome.output, HasSubstr("Data in L1 by experiment"));
}

}  // namespace
}  // namespace topdnn
