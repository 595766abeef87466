#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/probes/ceilings.h"
#include "harness/probes/quiet.h"

namespace topdnn {
namespace {

TEST(MeasureCeilings, EachHasANameAndAValueOrAReason) {
  const std::vector<Ceiling> ceilings = MeasureCeilings(1, 0.05);
  std::set<std::string> names;
  for (const Ceiling& ceiling : ceilings) {
    EXPECT_TRUE(names.insert(ceiling.name).second) << ceiling.name << " is a duplicate";
    EXPECT_EQ(ceiling.threads, 1);
    EXPECT_FALSE(ceiling.unit.empty());
    const auto json = ToJson(ceiling);
    EXPECT_EQ(json.at("value").is_null(), !ceiling.value.has_value());
    if (ceiling.value) {
      EXPECT_GT(*ceiling.value, 0) << ceiling.name;
      EXPECT_GT(*ceiling.median, 0) << ceiling.name;
      EXPECT_GE(ceiling.windows, ceiling.verdict.status == Status::kOk ? 5 : 1) << ceiling.name;
      EXPECT_GE(*ceiling.spread, 0) << ceiling.name;
    } else {
      EXPECT_FALSE(ceiling.note.empty()) << ceiling.name;
    }
  }
#if defined(__x86_64__)
  const Ceiling* sse = CeilingFor(ceilings, "sse41", "f32", 1);
  ASSERT_NE(sse, nullptr);
  EXPECT_EQ(sse->name, "fma/sse2/f32/l1");
  EXPECT_EQ(CeilingFor(ceilings, "avx2", "f32", 1) != nullptr, HasIsa(Isa::kAvx2));
#endif
}

Ceiling Made(std::string isa, std::string type, std::string operands, int threads,
             std::optional<double> value) {
  Ceiling ceiling;
  ceiling.isa = std::move(isa);
  ceiling.type = std::move(type);
  ceiling.operands = std::move(operands);
  ceiling.threads = threads;
  ceiling.value = value;
  return ceiling;
}

TEST(CeilingFor, UsesTheCeilingFedFromL1) {
  const std::vector<Ceiling> ceilings = {Made("avx2", "f32", "registers", 1, 9.0),
                                         Made("avx2", "f32", "l1", 1, 1.0),
                                         Made("avx2", "f32", "l1", 2, 2.0),
                                         Made("avx512", "f32", "l1", 1, 3.0),
                                         Made("avx512_bf16", "bf16", "l1", 1, 4.0),
                                         Made("amx_bf16", "bf16", "l1", 1, 5.0),
                                         Made("amx_int8", "s8", "l1", 1, 6.0),
                                         Made("avx512_fp16", "f16", "l1", 1, {}),
                                         Made("avx512_bf16", "bf16", "registers", 1, 9.0)};
  const auto value = [&](const char* isa, const char* type, int threads) {
    const Ceiling* found = CeilingFor(ceilings, isa, type, threads);
    return found == nullptr ? std::nullopt : found->value;
  };
  EXPECT_EQ(value("avx2", "f32", 1), 1.0);
  EXPECT_EQ(value("avx2", "f32", 2), 2.0);
  EXPECT_EQ(value("avx512", "f32", 1), 3.0);
  EXPECT_EQ(value("avx512", "bf16", 1), 4.0);
  EXPECT_EQ(value("avx512_bf16", "bf16", 1), 4.0);
  EXPECT_EQ(value("amx", "bf16", 1), 5.0);
  EXPECT_EQ(value("amx", "s8", 1), 6.0);
  EXPECT_FALSE(value("avx2", "bf16", 1));
  EXPECT_FALSE(value("avx512", "f16", 1));
  EXPECT_FALSE(value("avx512", "f32", 3));
  EXPECT_FALSE(value("", "f32", 1));
}

Topology Caches(std::int64_t l1, std::int64_t l2, std::int64_t l3) {
  Topology topology;
  topology.caches = {{1, "data", l1, 64, 2, 1}, {2, "unified", l2, 64, 2, 1}};
  if (l3 != 0) topology.caches.push_back({3, "unified", l3, 64, 1, 2});
  return topology;
}

TEST(WorkingSet, FitsItsLevel) {
  constexpr std::size_t kMany = std::size_t{64} << 30;
  const Topology zen = Caches(32 << 10, 1 << 20, 32 << 20);
  std::string note;
  EXPECT_EQ(WorkingSet(zen, "l1", 1, kMany, note), 16U << 10);
  EXPECT_EQ(WorkingSet(Caches(48 << 10, 2 << 20, 0), "l1", 1, kMany, note), 16U << 10);
  EXPECT_EQ(WorkingSet(zen, "l2", 2, kMany, note), 512U << 10);
  EXPECT_EQ(WorkingSet(zen, "llc", 2, kMany, note), 4U << 20);
  EXPECT_EQ(WorkingSet(zen, "dram", 1, kMany, note), 128U << 20);
  EXPECT_EQ(WorkingSet(zen, "dram", 2, kMany, note), 64U << 20);
  EXPECT_EQ(note, "");
}

// Alder Lake-N: four cores share 2 MiB.
TEST(WorkingSet, IsAShareOfAnL2OfSeveralCores) {
  constexpr std::size_t kMany = std::size_t{64} << 30;
  Topology cluster;
  cluster.caches = {{1, "data", 32 << 10, 64, 4, 1}, {2, "unified", 2 << 20, 64, 1, 4}};
  std::string note;
  EXPECT_EQ(WorkingSet(cluster, "l2", 1, kMany, note), 1U << 20);
  EXPECT_EQ(WorkingSet(cluster, "l2", 4, kMany, note), 256U << 10);  // half of 2 MiB in all
  EXPECT_EQ(WorkingSet(cluster, "l1", 4, kMany, note), 16U << 10);
  EXPECT_EQ(note, "");
  // A virtual machine may report that all its CPUs share an L2.
  cluster.caches = {{1, "data", 32 << 10, 64, 64, 1}, {2, "unified", 1 << 20, 64, 1, 64}};
  EXPECT_EQ(WorkingSet(cluster, "l2", 64, kMany, note), 0U);
  EXPECT_EQ(note, "a thread's share of L2 (16 KiB) is not well above its L1");
}

// Four cores of two hyperthreads each, with an L2 of their own.
TEST(WorkingSet, IsAShareIfHyperthreadsShareACore) {
  constexpr std::size_t kMany = std::size_t{64} << 30;
  Topology smt;
  smt.allowed_cores = 4;
  smt.caches = {{1, "data", 32 << 10, 64, 4, 2}, {2, "unified", 1 << 20, 64, 4, 2}};
  std::string note;
  EXPECT_EQ(ThreadsPerCore(smt, 4), 1);
  EXPECT_EQ(ThreadsPerCore(smt, 5), 2);
  EXPECT_EQ(WorkingSet(smt, "l2", 4, kMany, note), 512U << 10);
  EXPECT_EQ(WorkingSet(smt, "l2", 8, kMany, note), 256U << 10);
  EXPECT_EQ(WorkingSet(smt, "l1", 8, kMany, note), 8U << 10);
  smt.allowed_cores = 2;  // two cores' CPUs only
  EXPECT_EQ(WorkingSet(smt, "l2", 4, kMany, note), 256U << 10);
}

// A package of 64 cores in 8 complexes with 32 MiB each: the threads use up to 256 MiB of L3, and a
// thread shares its own with 7 others at most.
TEST(WorkingSet, IsBeyondAllLastCachesThatTheThreadsMayUse) {
  constexpr std::size_t kMany = std::size_t{64} << 30;
  Topology package = Caches(32 << 10, 1 << 20, 32 << 20);
  package.caches.back().instances = 8;
  package.caches.back().shared_by = 8;
  EXPECT_EQ(LastCacheBytes(package, 64), 256 << 20);
  EXPECT_EQ(LastCacheBytes(package, 3), 96 << 20);
  EXPECT_EQ(LastCacheBytes(Topology(), 3), 0);
  std::string note;
  EXPECT_EQ(WorkingSet(package, "dram", 64, kMany, note), 16U << 20);  // of 4 x 256 MiB
  EXPECT_EQ(WorkingSet(package, "dram", 8, kMany, note), 128U << 20);
  EXPECT_EQ(WorkingSet(package, "dram", 2, kMany, note), 128U << 20);  // of 4 x 64 MiB
  EXPECT_EQ(WorkingSet(package, "dram", 1, kMany, note), 128U << 20);
  EXPECT_EQ(WorkingSet(package, "llc", 64, kMany, note), 0U);  // 4 MiB a thread, 4 times its L2
  EXPECT_EQ(WorkingSet(package, "llc", 4, kMany, note), 4U << 20);
  note.clear();
  // An eighth of the memory is less than twice the caches.
  EXPECT_EQ(WorkingSet(package, "dram", 64, std::size_t{2} << 30, note), 4U << 20);
  EXPECT_NE(note.find("L3 is reported as 256 MiB: partly cached"), std::string::npos) << note;
}

TEST(WorkingSet, GivesTheReasonForAMissingLevel) {
  constexpr std::size_t kMany = std::size_t{64} << 30;
  std::string note;
  EXPECT_EQ(WorkingSet(Caches(32 << 10, 1 << 20, 0), "llc", 1, kMany, note), 0U);
  EXPECT_NE(note, "");
  note.clear();
  EXPECT_EQ(WorkingSet(Caches(32 << 10, 2 << 20, 16 << 20), "llc", 8, kMany, note), 0U);
  EXPECT_NE(note, "");
  note.clear();
  // A cache larger than the memory that may be allocated: measured, with a note (partly cached).
  EXPECT_EQ(WorkingSet(Caches(48 << 10, 2 << 20, 1200 << 20), "dram", 1, kMany, note), 2U << 30);
  EXPECT_NE(note.find("partly cached"), std::string::npos);
  note.clear();
  EXPECT_EQ(WorkingSet(Topology(), "l1", 1, kMany, note), 0U);
  EXPECT_NE(note, "");
}

// A level whose size could not be read must not make another level's working set tiny: the loops of
// the probes walk whole blocks.
TEST(WorkingSet, IsNoneOrSeveralBlocksIfALevelIsNotReported) {
  for (const std::int64_t l1 : {0, 48 << 10}) {
    for (const std::int64_t l2 : {0, 2 << 20}) {
      for (const std::int64_t l3 : {0, 256 << 20}) {
        for (const char* level : {"l1", "l2", "llc", "dram"}) {
          for (const std::size_t memory : {std::size_t{0}, std::size_t{8} << 30}) {
            std::string note;
            const std::size_t bytes = WorkingSet(Caches(l1, l2, l3), level, 2, memory, note);
            const std::string what = fmt::format("{} of L1 {}, L2 {}, L3 {}", level, l1, l2, l3);
            EXPECT_TRUE(bytes == 0 || bytes >= 8192) << what << ": " << bytes;
            EXPECT_TRUE(bytes != 0 || !note.empty()) << what;
          }
        }
      }
    }
  }
}

TEST(QuietRatio, IsTheLowerOfBothProbes) {
  const QuietReading best = {100.0, 50.0};
  EXPECT_EQ(QuietRatio(best, {100.0, 25.0}), 0.5);  // arithmetic alone would seem quiet
  EXPECT_EQ(QuietRatio(best, {75.0, 50.0}), 0.75);
  EXPECT_EQ(QuietRatio(best, {100.0, 40.0}), 1.0);  // within memory's noise
  EXPECT_EQ(QuietRatio(best, {120.0, 60.0}), 1.0);
  EXPECT_EQ(QuietRatio(best, {75.0, std::nullopt}), 0.75);
  EXPECT_FALSE(QuietRatio({}, best));
  const QuietReading both = Best({1.0, 5.0}, {2.0, std::nullopt});
  EXPECT_EQ(both.flops_per_second, 2.0);
  EXPECT_EQ(both.bytes_per_second, 5.0);
}

TEST(QuietCheck, ReadsAllRates) {
  QuietCheck check(1);
  const QuietReading reading = check.Read();
#if defined(__x86_64__) || defined(__aarch64__)
  ASSERT_TRUE(reading.flops_per_second && reading.bytes_per_second);
  EXPECT_GT(*reading.flops_per_second, 0);
  EXPECT_GT(*reading.bytes_per_second, 0);
#if defined(__x86_64__)
  EXPECT_GT(reading.instructions_per_second.value_or(0), 0);
#endif
#else
  EXPECT_FALSE(reading.flops_per_second);
#endif
}

}  // namespace
}  // namespace topdnn
