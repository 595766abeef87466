// Checks each probe that this machine can run: plain loops compute its result again, and
// single-stepping counts its instructions.

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cmath>
#include <csignal>
#include <cstring>
#include <numeric>

#include "harness/machine/clock.h"
#include "harness/probes/probe.h"

namespace topdnn {
namespace {

constexpr std::int64_t kIterations = 5;

double Element(const std::string& type, const std::byte* place, bool is_unsigned) {
  if (type == "f64") {
    double value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  if (type == "f32") {
    float value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  if (type == "s8") {
    const auto value = static_cast<std::uint8_t>(*place);
    return is_unsigned ? value : static_cast<std::int8_t>(value);
  }
  std::uint16_t half = 0;
  std::memcpy(&half, place, sizeof half);
  if (type == "bf16") {
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  // binary16: only normal numbers and zero
  const int exponent = half >> 10 & 0x1F;
  const double magnitude = exponent == 0 ? 0 : std::ldexp(1024 + (half & 0x3FF), exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

int ElementBytes(const std::string& type) {
  if (type == "f64") return 8;
  if (type == "f32") return 4;
  return type == "s8" ? 1 : 2;
}

// One accumulator of a block, as FmaShape describes the computation.
double Expected(const FmaShape& shape, const ProbeBuffers& buffers, std::int64_t iterations,
                int row, int column, int lane) {
  const int size = ElementBytes(shape.type);
  double sum = 0;
  for (std::int64_t step = 0; step < iterations * shape.steps; ++step) {
    const auto k = shape.streamed ? static_cast<int>(step % kPanelSteps) : 0;
    for (int d = 0; d < shape.depth; ++d) {
      const int group = shape.rows_replicated ? shape.lanes : shape.depth;
      const int row_at = k * shape.row_step + ((shape.streamed ? row * group : 0) + d) * size;
      const int column_lane = shape.streamed ? (column * shape.lanes + lane) * shape.depth : 0;
      const int column_at = k * shape.column_step + (column_lane + d) * size;
      sum += Element(shape.type, buffers.rows.get() + row_at, true) *
             Element(shape.type, buffers.columns.get() + column_at, false);
    }
  }
  return sum;
}

// The same for a block of tiles: row and column of one tile's accumulators are in `lane`.
double ExpectedTile(const FmaShape& shape, const ProbeBuffers& buffers, std::int64_t iterations,
                    int row, int column, int lane) {
  const int size = ElementBytes(shape.type);
  const int m = lane / 16;
  const int n = lane % 16;
  double sum = 0;
  for (std::int64_t step = 0; step < iterations * shape.steps; ++step) {
    const auto k = shape.streamed ? static_cast<int>(step % shape.steps) : 0;
    for (int inner = 0; inner < 16; ++inner) {
      for (int d = 0; d < shape.depth; ++d) {
        const int a = (2 * k + row) * 1024 + m * 64 + (inner * shape.depth + d) * size;
        const int b = (2 * k + column) * 1024 + inner * 64 + (n * shape.depth + d) * size;
        sum += Element(shape.type, buffers.rows.get() + a, true) *
               Element(shape.type, buffers.columns.get() + b, false);
      }
    }
  }
  return sum;
}

double Accumulator(const std::string& type, const std::byte* place) {
  if (type == "s8") {
    std::int32_t value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  return Element(type == "bf16" ? "f32" : type, place, false);
}

int AccumulatorBytes(const std::string& type) {
  if (type == "f64") return 8;
  return type == "f16" ? 2 : 4;
}

void CheckFma(const Probe& probe) {
  const FmaShape& shape = *probe.fma;
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  // 21: one pass over the panel (16 iterations of 4 steps) and a part of the next, with another
  // sum.
  const std::int64_t iterations = shape.streamed ? 21 : kIterations;
  probe.run(buffers, iterations);
  const int bytes = AccumulatorBytes(shape.type);
  const int stride = shape.streamed || shape.tiles ? shape.lanes * bytes : 64;
  bool any = false;
  for (int row = 0; row < shape.rows; ++row) {
    for (int column = 0; column < shape.columns; ++column) {
      for (int lane = 0; lane < shape.lanes; ++lane) {
        const double expected = shape.tiles
                                    ? ExpectedTile(shape, buffers, iterations, row, column, lane)
                                    : Expected(shape, buffers, iterations, row, column, lane);
        const std::byte* place =
            buffers.results.get() + (row * shape.columns + column) * stride + lane * bytes;
        ASSERT_EQ(Accumulator(shape.type, place), expected)
            << probe.name << " row " << row << " column " << column << " lane " << lane;
        any = any || expected != 0;
      }
    }
  }
  EXPECT_TRUE(any) << "all results are zero, which tests nothing";
  const double tile = shape.tiles ? 16 : 1;
  EXPECT_EQ(probe.work.flops,
            2.0 * shape.rows * shape.columns * shape.lanes * shape.depth * shape.steps * tile);
}

void CheckRead(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  const std::int64_t iterations = 8192 / static_cast<int>(probe.work.bytes_loaded) + 3;
  std::uint32_t expected = 0;
  for (std::size_t at = 0; at < iterations * probe.work.bytes_loaded; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, buffers.memory.get() + at % 8192, sizeof word);
    expected += word;
  }
  std::memset(buffers.results.get(), 0, ProbeBuffers::kResultBytes);
  probe.run(buffers, iterations);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < 256; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, buffers.results.get() + at, sizeof word);
    sum += word;
  }
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(buffers.position, 3 * probe.work.bytes_loaded);
}

void CheckTriad(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  probe.run(buffers, 4);
  const auto at = [&](std::size_t offset) {
    return Element("f32", buffers.memory.get() + offset, false);
  };
  for (std::size_t i = 0; i < 2048; i += 4) {
    ASSERT_EQ(at(i), at(2048 + 1024 + i) + 3 * at(4096 + 2048 + i)) << i;
  }
}

void CheckCopy(const Probe& probe) {
  ProbeBuffers buffers(16384);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  EXPECT_NE(std::memcmp(buffers.memory.get(), buffers.memory.get() + 8192, 8192), 0);
  probe.run(buffers, 8192 / static_cast<int>(probe.work.bytes_loaded));
  EXPECT_EQ(std::memcmp(buffers.memory.get(), buffers.memory.get() + 8192, 8192), 0);
}

// The chase visits every line once and returns to the first.
void CheckChase(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  const auto first = reinterpret_cast<std::uint64_t>(buffers.memory.get());
  const auto lines = static_cast<std::int64_t>(8192 / 64);
  const auto loads = static_cast<std::int64_t>(probe.work.loads);
  for (std::int64_t i = loads; i < lines; i += loads) {
    probe.run(buffers, 1);
    ASSERT_NE(buffers.position, first) << "a shorter cycle";
  }
  probe.run(buffers, 1);
  EXPECT_EQ(buffers.position, first);
}

void CheckBranch(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  probe.run(buffers, 5000);
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < 5000; ++i) expected += buffers.memory[i] != std::byte{0} ? 1 : 0;
  std::uint64_t counted = 0;
  std::memcpy(&counted, buffers.results.get(), sizeof counted);
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(probe.name == "branch/taken", expected == 0);
}

void CheckClock(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  const std::uint64_t start = buffers.position;
  probe.run(buffers, 3);
  EXPECT_EQ(buffers.position, start ^ 5);  // an odd number of times
}

// A store writes zero to its address and nothing else; the chain converges to its fixed point.
void CheckCore(const Probe& probe) {
  ProbeBuffers buffers(8192);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 42);
  probe.run(buffers, kIterations);
  const bool stores = probe.work.bytes_stored > 0;
  const double width = stores ? probe.work.bytes_stored / probe.work.stores : 0;
  for (std::size_t i = 0; i < buffers.working_set; ++i) {
    if (stores && i < 256 && static_cast<double>(i) >= width) continue;
    const std::byte expected{static_cast<unsigned char>(static_cast<double>(i) < width ? 0 : 0x55)};
    ASSERT_EQ(buffers.memory[i], expected) << i;
  }
  if (probe.name != "core/fp/chain") return;
  float result = 0;
  std::memcpy(&result, buffers.results.get(), sizeof result);
  EXPECT_FLOAT_EQ(result, 2.0F);
}

class EachProbe : public ::testing::TestWithParam<std::string> {};

TEST_P(EachProbe, ComputesItsResult) {
  const Probe* probe = FindProbe(GetParam());
  ASSERT_NE(probe, nullptr);
  const std::string reason = WhyAbsent(*probe, MachineIsas());
  if (!reason.empty()) GTEST_SKIP() << reason;
  switch (probe->kind) {
    case ProbeKind::kFma:
      return CheckFma(*probe);
    case ProbeKind::kRead:
      return CheckRead(*probe);
    case ProbeKind::kTriad:
      return CheckTriad(*probe);
    case ProbeKind::kCopy:
      return CheckCopy(*probe);
    case ProbeKind::kChase:
      return CheckChase(*probe);
    case ProbeKind::kBranch:
      return CheckBranch(*probe);
    case ProbeKind::kClock:
      return CheckClock(*probe);
    case ProbeKind::kCore:
      return CheckCore(*probe);
  }
}

// The instructions that a child executes from its first stop to its end; -1 if tracing is refused.
long CountBySteps(const Probe& probe, ProbeBuffers& buffers, std::int64_t iterations) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    probe.run(buffers, iterations);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  long steps = 0;
  while (true) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? steps : -1;
    if (!WIFSTOPPED(status)) return -1;
    ++steps;
  }
}

TEST_P(EachProbe, ExecutesItsNumberOfInstructions) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's own code runs other branches from call to call";
#endif
  const Probe* probe = FindProbe(GetParam());
  ASSERT_NE(probe, nullptr);
  const std::string reason = WhyAbsent(*probe, MachineIsas());
  if (!reason.empty()) GTEST_SKIP() << reason;
  if (probe->name == "copy/rep_movsb") GTEST_SKIP() << "a step of `rep movsb` is one iteration";
  ProbeBuffers buffers(8192);
  probe->prepare(*probe, buffers, Fill::kWholeNumbers, 42);
  const std::int64_t more = 6;
  const long few = CountBySteps(*probe, buffers, 1);
  const long many = CountBySteps(*probe, buffers, 1 + more);
  if (few < 0 || many < 0) GTEST_SKIP() << "this process may not trace its children";
  double expected = more * probe->work.instructions;
  if (probe->name == "branch/random") {
    // Known only on average, so count the branches of these bytes.
    expected = more * 6.0;
    for (std::int64_t i = 1; i <= more; ++i) {
      expected += buffers.memory[static_cast<std::size_t>(i)] != std::byte{0} ? 1 : 0;
    }
  }
  EXPECT_EQ(static_cast<double>(many - few), expected);
}

std::vector<std::string> ProbeNames() {
  std::vector<std::string> names;
  for (const Probe& probe : Probes()) names.push_back(probe.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Probes, EachProbe, ::testing::ValuesIn(ProbeNames()),
                         [](const ::testing::TestParamInfo<std::string>& probe) {
                           std::string name = probe.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EachProbe);

// Otherwise the accumulators would grow from pass to pass.
TEST(Probes, APassOverRealPanelsAddsNothing) {
  for (const Probe& probe : Probes()) {
    if (!probe.fma || !probe.fma->streamed || probe.fma->type == "s8") continue;
    const FmaShape& shape = *probe.fma;
    ProbeBuffers buffers(8192);
    probe.prepare(probe, buffers, Fill::kReals, 42);
    const std::int64_t pass = shape.tiles ? 1 : kPanelSteps / shape.steps;
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.columns; ++column) {
        for (int lane = 0; lane < shape.lanes; ++lane) {
          const double sum = shape.tiles ? ExpectedTile(shape, buffers, pass, row, column, lane)
                                         : Expected(shape, buffers, pass, row, column, lane);
          ASSERT_NEAR(sum, 0, 1e-9)
              << probe.name << " row " << row << " column " << column << " lane " << lane;
        }
      }
    }
  }
}

TEST(Probes, AnAbsentProbeGivesTheReason) {
  const Probe* fp16 = FindProbe("fma/avx512_fp16/f16/l1");
#if defined(__x86_64__)
  ASSERT_NE(fp16, nullptr);
  EXPECT_EQ(WhyAbsent(*fp16, {{Isa::kAvx512Fp16, false, "the CPU reports no AVX512_FP16"}}),
            "avx512_fp16: the CPU reports no AVX512_FP16");
  EXPECT_EQ(WhyAbsent(*fp16, {{Isa::kAvx512Fp16, true, ""}}), "");
  EXPECT_NE(WhyAbsent(*fp16, {}), "");
#else
  EXPECT_EQ(fp16, nullptr);
#endif
  EXPECT_EQ(FindProbe("fma/none"), nullptr);
}

}  // namespace
}  // namespace topdnn
