#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/report/tables/tables.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

constexpr Style kPlain = {.colour = false, .unicode = false, .terminal = false, .width = 80};

Ceiling Made(const char* name, const char* isa, const char* type, const char* operands, int threads,
             std::optional<double> value, Verdict verdict = {}) {
  Ceiling ceiling;
  ceiling.name = name;
  ceiling.isa = isa;
  ceiling.type = type;
  ceiling.operands = operands;
  ceiling.threads = threads;
  ceiling.value = value;
  ceiling.unit = type[0] != '\0' ? "FLOP/s" : "B/s";
  ceiling.verdict = std::move(verdict);
  return ceiling;
}

std::vector<Ceiling> Some() {
  const Verdict skipped = {Status::kSkipped, "amx_bf16: CPUID does not report it"};
  return {
      Made("fma/avx2/f32/l1", "avx2", "f32", "l1", 1, 100.04e9),
      Made("fma/avx2/f32/registers", "avx2", "f32", "registers", 1, 123e9),
      Made("fma/amx_bf16/bf16/l1", "amx_bf16", "bf16", "l1", 1, {}, skipped),
      Made("read/l1", "avx2", "", "l1", 1, 200e9),
      Made("read/llc", "avx2", "", "llc", 1, {}, {Status::kSkipped, "no such cache"}),
      Made("fma/avx2/f32/l1", "avx2", "f32", "l1", 2, 150e9, {Status::kDegraded, "a neighbour"}),
      Made("fma/amx_bf16/bf16/l1", "amx_bf16", "bf16", "l1", 2, {}, skipped),
      Made("read/l1", "avx2", "", "l1", 2, 27e9, {Status::kInvalid, "below one thread"}),
      Made("read/llc", "avx2", "", "llc", 2, {}, {Status::kSkipped, "no such cache"})};
}

TEST(CeilingTable, HasThreadsAsColumnsAndMarks) {
  EXPECT_EQ(CeilingTable(Some(), kPlain),
            "  multiply and add  1 thread   2 threads\n"
            "  avx2 f32             100.0       150.0*  GFLOP/s\n"
            "  n/a: amx_bf16 bf16 (the ISA is not usable, above)\n"
            "\n"
            "  memory                  l1   llc\n"
            "  read    1 thread     200.0   n/a   GB/s\n"
            "  read    2 threads  INVALID   n/a   GB/s\n"
            "  n/a: read/llc: no such cache\n"
            "  *: DEGRADED, for the reason below\n"
            "  INVALID read/l1, 2 threads: below one thread\n"
            "  DEGRADED fma/avx2/f32/l1, 2 threads: a neighbour\n");
}

TEST(CeilingTable, FitsAScreenWithEveryKindOfFault) {
  std::vector<Ceiling> ceilings;
  for (int i = 0; i < 12; ++i) {
    ceilings.push_back(
        Made("fma/avx2/f32/l1", "avx2", "f32", "l1", i + 1, 1e9, {Status::kInvalid, "a reason"}));
  }
  const std::string text = CeilingTable(ceilings, kPlain);
  EXPECT_THAT(text, HasSubstr("and 6 more (--all lists them)"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 20);
}

TEST(CeilingList, HasEveryCeiling) {
  EXPECT_EQ(CeilingList(Some(), kPlain),
            "  ceiling                 threads          value  status    reason\n"
            "  fma/avx2/f32/l1               1  100.0 GFLOP/s  OK\n"
            "  fma/avx2/f32/registers        1  123.0 GFLOP/s  OK\n"
            "  fma/amx_bf16/bf16/l1          1            n/a  SKIPPED   amx_bf16: CPUID does\n"
            "                                                            not report it\n"
            "  read/l1                       1     200.0 GB/s  OK\n"
            "  read/llc                      1            n/a  SKIPPED   no such cache\n"
            "  fma/avx2/f32/l1               2  150.0 GFLOP/s  DEGRADED  a neighbour\n"
            "  fma/amx_bf16/bf16/l1          2            n/a  SKIPPED   amx_bf16: CPUID does\n"
            "                                                            not report it\n"
            "  read/l1                       2      27.0 GB/s  INVALID   below one thread\n"
            "  read/llc                      2            n/a  SKIPPED   no such cache\n");
}

}  // namespace
}  // namespace topdnn
