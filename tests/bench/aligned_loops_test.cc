// Loops of our own that fit into a 64-byte line of code lie in one: where the linker puts them must
// not decide their time.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

#include "bench/cases/kernel_case.h"
#include "harness/exact/counter.h"
#include "harness/hot/executed_code.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"

namespace topdnn {
namespace {

// From a loop's first instruction to its last; `end` 0: it has code elsewhere, too.
struct LoopBytes {
  std::uint64_t start = 0, end = 0;
};

LoopBytes BytesOf(const ExecutedCode& code, const Loop& loop) {
  LoopBytes bytes;
  for (const std::size_t b : loop.own) {
    const BasicBlock& block = code.graph.blocks[b];
    const Instruction& first = code.instructions[block.first].code;
    if (bytes.end != 0 && bytes.end != first.address) return {};
    if (bytes.end == 0) bytes.start = first.address;
    bytes.end = code.instructions[block.first + block.count - 1].code.end();
  }
  return bytes;
}

struct OwnLoop {
  const char* problem;
  Pass pass;
};

class OwnLoops : public testing::TestWithParam<OwnLoop> {};

TEST_P(OwnLoops, LieInOneLineOfCodeIfTheyFit) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer makes the loops longer than a line";
#endif
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  const KernelProblem problem(ParseProblem(GetParam().problem),
                              {GetParam().pass, true, DataType::kF32});
  auto made = KernelCase::Make(*FindVariant("native"), problem, 1);
  ASSERT_FALSE(std::holds_alternative<Refusal>(made));
  const auto kernel = std::get<std::unique_ptr<KernelCase>>(std::move(made));
  auto run = [&kernel]() noexcept { kernel->Run(); };
  run();
  BlockProfile blocks;
  ExactCounter::Count(run, &blocks);
  const ExecutedCode code = ReadExecutedCode(blocks);
  int checked = 0;
  for (const Loop& loop : FindLoops(code.graph)) {
    constexpr std::uint64_t kLine = 64;
    if (loop.instructions * 4 < code.executed) continue;
    const LoopBytes bytes = BytesOf(code, loop);
    if (bytes.end == 0 || bytes.end - bytes.start > kLine) continue;
    ++checked;
    EXPECT_EQ(bytes.start / kLine, (bytes.end - 1) / kLine)
        << "a loop of " << bytes.end - bytes.start << " bytes at " << bytes.start % kLine
        << " of a line";
  }
  EXPECT_GT(checked, 0) << "no small loop takes a quarter of the instructions";
}

INSTANTIATE_TEST_SUITE_P(Kernels, OwnLoops,
                         testing::Values(OwnLoop{"relu/2x16x28x28", Pass::kForward},
                                         OwnLoop{"relu/2x16x28x28", Pass::kBackwardData},
                                         OwnLoop{"bounded_relu/2x16x28x28_bound6", Pass::kForward},
                                         OwnLoop{"sigmoid/2x16x28x28", Pass::kBackwardData}));

}  // namespace
}  // namespace topdnn
