// Decisions from the CPUID leaves of other CPUs.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/machine/cpu.h"
#include "harness/machine/isa.h"
#include "harness/machine/machine.h"

namespace topdnn {
namespace {

using Leaves = std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters>;

// Leaf 0: EAX, EBX, ECX, EDX. The vendor string is in EBX, EDX, ECX.
constexpr CpuidRegisters kIntel = {0x20, 0x756E6547, 0x6C65746E, 0x49656E69};
constexpr CpuidRegisters kAmd = {0x10, 0x68747541, 0x444D4163, 0x69746E65};

// An EPYC 9004 guest under KVM.
CpuidLeaves Zen4() {
  return CpuidLeaves(Leaves{{{0, 0}, kAmd},
                            {{1, 0}, {0x00A10F11, 0x00020800, 0xFEF83203, 0x178BFBFF}},
                            {{7, 0}, {1, 0xF1BF07A9, 0x00405FCE, 0x00000010}},
                            {{7, 1}, {0x00000020, 0, 0, 0}},
                            {{0x40000000, 0}, {0x40000001, 0x4B4D564B, 0x564B4D56, 0x4D}},
                            {{0x80000002, 0}, {0x20444D41, 0x43595045, 0x20, 0}},
                            {{0x80000007, 0}, {0, 0, 0, 0x100}}});
}

// A first-generation Xeon Scalable (stepping 4).
CpuidLeaves SkylakeX() {
  return CpuidLeaves(Leaves{{{0, 0}, kIntel},
                            {{1, 0}, {0x00050654, 0x00100800, 0x7FFEFBFF, 0xBFEBFBFF}},
                            {{7, 0}, {0, 0xD39FFFFB, 0x00000008, 0xBC000400}},
                            {{0x80000007, 0}, {0, 0, 0, 0x100}}});
}

// A fourth-generation Xeon Scalable.
CpuidLeaves SapphireRapids() {
  return CpuidLeaves(Leaves{{{0, 0}, kIntel},
                            {{1, 0}, {0x000806F8, 0x00400800, 0x7FFEFBFF, 0xBFEBFBFF}},
                            {{7, 0}, {2, 0xF3BFBFFB, 0xFB417FFE, 0xFFDD4432}},
                            {{7, 1}, {0x00001C30, 0, 0, 0}},
                            {{0x80000007, 0}, {0, 0, 0, 0x100}}});
}

// Any early x86-64: SSE2, no XSAVE.
CpuidLeaves PlainSse2() {
  return CpuidLeaves(Leaves{{{0, 0}, kAmd}, {{1, 0}, {0x00000F48, 0, 0, 0x078BFBFF}}});
}

constexpr std::uint64_t kAvxXcr0 = 0x7;
constexpr std::uint64_t kAvx512Xcr0 = 0xE7;
constexpr std::uint64_t kAmxXcr0 = 0x602E7;

std::vector<std::string> Usable(const std::vector<IsaVerdict>& verdicts) {
  std::vector<std::string> names;
  for (const IsaVerdict& verdict : verdicts) {
    EXPECT_EQ(verdict.usable, verdict.reason.empty()) << NameOf(verdict.isa);
    if (verdict.usable) names.emplace_back(NameOf(verdict.isa));
  }
  return names;
}

std::string ReasonOf(const std::vector<IsaVerdict>& verdicts, Isa isa) {
  return std::find_if(verdicts.begin(), verdicts.end(),
                      [isa](const IsaVerdict& verdict) { return verdict.isa == isa; })
      ->reason;
}

using Names = std::vector<std::string>;

TEST(DecideIsas, FollowsTheFeatureBitsOfRecordedCpus) {
  EXPECT_EQ(Usable(DecideIsas(Zen4(), kAvx512Xcr0, false)),
            (Names{"sse2", "sse41", "avx2", "avx512", "avx512_vnni", "avx512_bf16"}));
  EXPECT_EQ(Usable(DecideIsas(SkylakeX(), kAvx512Xcr0, false)),
            (Names{"sse2", "sse41", "avx2", "avx512"}));
  EXPECT_EQ(Usable(DecideIsas(SapphireRapids(), kAmxXcr0, true)),
            (Names{"sse2", "sse41", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "avx512_fp16",
                   "amx_int8", "amx_bf16"}));
  EXPECT_EQ(Usable(DecideIsas(PlainSse2(), 0, false)), (Names{"sse2"}));
  EXPECT_TRUE(Usable(DecideIsas(CpuidLeaves(), 0, false)).empty());
}

TEST(DecideIsas, DeniesIsasWithRegistersThatAreNotSaved) {
  const auto verdicts = DecideIsas(SapphireRapids(), kAvxXcr0, true);
  EXPECT_EQ(Usable(verdicts), (Names{"sse2", "sse41", "avx2"}));
  EXPECT_NE(ReasonOf(verdicts, Isa::kAvx512).find("XCR0 0x7"), std::string::npos);
  EXPECT_EQ(Usable(DecideIsas(SkylakeX(), 0, true)), (Names{"sse2", "sse41"}));
}

TEST(DecideIsas, DeniesAmxWithoutTheKernelsPermission) {
  const auto verdicts = DecideIsas(SapphireRapids(), kAmxXcr0, false);
  EXPECT_NE(ReasonOf(verdicts, Isa::kAmxBf16).find("kernel"), std::string::npos);
  EXPECT_EQ(ReasonOf(verdicts, Isa::kAvx512Fp16), "");
}

TEST(DecideIsas, ExtensionsNeedTheirBase) {
  // A hypervisor that hides AVX512F but not VNNI.
  Leaves leaves = {{{0, 0}, kIntel},
                   {{1, 0}, {0x000806F8, 0, 0x7FFEFBFF, 0xBFEBFBFF}},
                   {{7, 0}, {0, 0x00000028, 0x00000800, 0}}};
  const auto verdicts = DecideIsas(CpuidLeaves(leaves), kAvx512Xcr0, false);
  EXPECT_EQ(Usable(verdicts), (Names{"sse2", "sse41", "avx2"}));
  EXPECT_EQ(ReasonOf(verdicts, Isa::kAvx512Vnni), "needs avx512: the CPU reports no AVX512F");
}

TEST(IdentifyX86, NamesRecordedCpus) {
  const Cpu zen4 = IdentifyX86(Zen4());
  EXPECT_EQ(zen4.vendor, "AuthenticAMD");
  EXPECT_EQ(zen4.brand, "AMD EPYC");
  EXPECT_EQ(zen4.microarchitecture, "zen4");
  EXPECT_EQ(zen4.family, 25);
  EXPECT_EQ(zen4.model, 17);
  EXPECT_EQ(zen4.stepping, 1);
  EXPECT_EQ(zen4.hypervisor, "KVM");
  EXPECT_TRUE(zen4.invariant_tsc);

  const Cpu skx = IdentifyX86(SkylakeX());
  EXPECT_EQ(skx.vendor, "GenuineIntel");
  EXPECT_EQ(skx.microarchitecture, "skylake_x");
  EXPECT_EQ(skx.family, 6);
  EXPECT_EQ(skx.model, 0x55);
  EXPECT_EQ(skx.hypervisor, "");

  EXPECT_EQ(IdentifyX86(SapphireRapids()).microarchitecture, "sapphire_rapids");
  const Cpu plain = IdentifyX86(PlainSse2());
  EXPECT_EQ(plain.microarchitecture, "");
  EXPECT_EQ(plain.family, 15);
  EXPECT_FALSE(plain.invariant_tsc);
}

// Recorded in a virtual machine whose CPUID has model 167 and, in leaf 7, AMX and AVX512-FP16.
TEST(IdentifyX86, AModelThatIsOlderThanItsFeaturesIsNotTheCpus) {
  const auto with = [](std::uint32_t signature, std::uint32_t features) {
    return IdentifyX86(CpuidLeaves(Leaves{
        {{0, 0}, kIntel}, {{1, 0}, {signature, 0, 0x80000000, 0}}, {{7, 0}, {1, 0, 0, features}}}));
  };
  const Cpu masked = with(0x000A0671, 0x01C00000);
  EXPECT_EQ(masked.microarchitecture, "sapphire_rapids");
  EXPECT_EQ(masked.model, 167);
  EXPECT_NE(masked.doubt.find("CPUID names rocket_lake"), std::string::npos);
  EXPECT_EQ(with(0x000A0671, 0x00800000).microarchitecture, "sapphire_rapids");  // FP16 alone
  const Cpu rocket_lake = with(0x000A0671, 0x00000010);
  EXPECT_EQ(rocket_lake.microarchitecture, "rocket_lake");
  EXPECT_EQ(rocket_lake.doubt, "");
  EXPECT_EQ(with(0x000C06F2, 0x01C00000).microarchitecture, "emerald_rapids");
  EXPECT_EQ(with(0x000A06D0, 0x01C00000).microarchitecture, "granite_rapids");
  EXPECT_EQ(with(0x00090672, 0x00800000).microarchitecture, "alder_lake_p");
  const Cpu later = with(0x000006FF, 0x01C00000);  // in no table
  EXPECT_EQ(later.microarchitecture, "");
  EXPECT_EQ(later.doubt, "");
}

TEST(IdentifyX86, DistinguishesSteppingsAndHybridCores) {
  const auto named = [](std::uint32_t signature, std::uint32_t core_type) {
    return IdentifyX86(CpuidLeaves(Leaves{{{0, 0}, kIntel},
                                          {{1, 0}, {signature, 0, 0, 0}},
                                          {{0x1A, 0}, {core_type << 24, 0, 0, 0}}}))
        .microarchitecture;
  };
  EXPECT_EQ(named(0x00050657, 0), "cascade_lake_x");
  EXPECT_EQ(named(0x000606A6, 0), "ice_lake_x");
  EXPECT_EQ(named(0x000C06F2, 0), "emerald_rapids");
  EXPECT_EQ(named(0x000A06D1, 0), "granite_rapids");
  EXPECT_EQ(named(0x00090672, 0x20), "gracemont");
  EXPECT_EQ(named(0x00090672, 0x40), "alder_lake_p");
  EXPECT_EQ(named(0x000B0671, 0x40), "raptor_lake_p");
  EXPECT_EQ(named(0x000A06A4, 0x40), "meteor_lake_p");
  EXPECT_EQ(named(0x000A06A4, 0x20), "crestmont");
  EXPECT_EQ(named(0x000B06D1, 0x40), "lunar_lake_p");
  EXPECT_EQ(named(0x000B06D1, 0x20), "skymont");
  EXPECT_EQ(named(0x000C0662, 0x40), "arrow_lake_p");
  EXPECT_EQ(named(0x000C0652, 0x20), "skymont");
  EXPECT_EQ(named(0x000B0650, 0x40), "meteor_lake_p");
  EXPECT_EQ(named(0x000C06C0, 0x40), "panther_lake_p");
  EXPECT_EQ(named(0x000C06C0, 0x20), "darkmont");
  EXPECT_EQ(named(0x000A06F3, 0), "sierra_forest");
  EXPECT_EQ(named(0x000B0664, 0), "grand_ridge");
  EXPECT_EQ(named(0x000D06D0, 0), "clearwater_forest");
  EXPECT_EQ(named(0x00300F10, 0x40), "nova_lake_p");
  EXPECT_EQ(named(0x000306F2, 0), "haswell_x");
  EXPECT_EQ(named(0x000406F1, 0), "broadwell_x");
}

// Family 1Ah: Zen 5 and Zen 6, by model (the kernel's arch/x86/kernel/cpu/amd.c).
TEST(IdentifyX86, DistinguishesZen5AndZen6) {
  const auto named = [](std::uint32_t model) {
    const std::uint32_t signature =
        0x00B00F00u | (model & 0xF0) << 12 | (model & 0xF) << 4;  // family 0Fh + 0Bh
    return IdentifyX86(CpuidLeaves(Leaves{{{0, 0}, {0, 0x68747541, 0x444D4163, 0x69746E65}},
                                          {{1, 0}, {signature, 0, 0, 0}}}))
        .microarchitecture;
  };
  for (const std::uint32_t model : {0x02, 0x11, 0x24, 0x44, 0x4F, 0x60, 0x70}) {
    EXPECT_EQ(named(model), "zen5") << model;
  }
  for (const std::uint32_t model : {0x50, 0x5F, 0x80, 0xAF, 0xC0, 0xCF}) {
    EXPECT_EQ(named(model), "zen6") << model;
  }
  EXPECT_EQ(named(0xB0), "");
  EXPECT_EQ(named(0xD0), "");
}

TEST(IdentifyArm, NamesNeoverseCores) {
  EXPECT_EQ(IdentifyArm(0x411FD401).microarchitecture, "neoverse_v1");
  EXPECT_EQ(IdentifyArm(0x410FD493).microarchitecture, "neoverse_n2");
  EXPECT_EQ(IdentifyArm(0x410FD4F0).microarchitecture, "neoverse_v2");
  EXPECT_EQ(IdentifyArm(0x410FD490).stepping, 0x00);
  EXPECT_EQ(IdentifyArm(0x413FD0C1).stepping, 0x31);  // r3p1
  EXPECT_EQ(IdentifyArm(0x410FD840).microarchitecture, "neoverse_v3");
  EXPECT_EQ(IdentifyArm(0x410FD8E0).microarchitecture, "neoverse_n3");
  EXPECT_EQ(IdentifyArm(0x6D0FD490).microarchitecture, "neoverse_n2");  // Azure Cobalt 100
  EXPECT_EQ(IdentifyArm(0x6D0FD490).vendor, "Microsoft");
  EXPECT_EQ(IdentifyArm(0xC00FAC30).microarchitecture, "ampere_one");
  EXPECT_EQ(IdentifyArm(0xC00FAC40).microarchitecture, "ampere_one");  // AmpereOneX
  EXPECT_EQ(IdentifyArm(0x4E0F0100).microarchitecture, "olympus");
  EXPECT_EQ(IdentifyArm(0x480FD010).microarchitecture, "tsv110");
  EXPECT_EQ(IdentifyArm(0x480FD490).microarchitecture, "");  // no other licensee's N2 is known
  EXPECT_EQ(IdentifyArm(0x610F0220).vendor, "");
}

TEST(LastLevelCacheDoubt, OnlyForAVirtualMachineWithTooMuch) {
  Topology topology;
  topology.caches = {{1, "data", 48 << 10, 64, 2, 1},
                     {2, "unified", 2 << 20, 64, 2, 1},
                     {3, "unified", 480 << 20, 64, 1, 2}};
  EXPECT_EQ(CacheSize(topology, 1), 48 << 10);
  EXPECT_EQ(LastCacheLevel(topology), 3);
  EXPECT_NE(LastLevelCacheDoubt(topology, true).find("480 MiB"), std::string::npos);
  EXPECT_EQ(LastLevelCacheDoubt(topology, false), "");
  topology.caches[2].size = 8 << 20;
  EXPECT_EQ(LastLevelCacheDoubt(topology, true), "");
}

// The package's L3 of an EPYC 9005 in leaf 80000006h: EDX 0FE09140h, 1,016 units of 512 KiB.
TEST(AssumeCoreComplexCache, ReplacesThatOfTheWholePackage) {
  struct Case {
    int family, model;
    std::int64_t reported, assumed;  // MiB
  };
  for (const Case& cpu_case :
       {Case{0x1A, 0x02, 508, 32}, Case{0x19, 0x11, 1152, 96}, Case{0x19, 0x01, 256, 32},
        Case{0x17, 0x31, 256, 16}, Case{0x17, 0x01, 64, 8}, Case{0x19, 0x61, 96, 96},
        Case{0x1A, 0x02, 32, 32}, Case{0x15, 0x02, 508, 508}}) {
    Topology topology;
    topology.caches = {{2, "unified", 1 << 20, 64, 2, 1},
                       {3, "unified", cpu_case.reported << 20, 64, 2, 1}};
    Cpu cpu;
    cpu.vendor = "AuthenticAMD";
    cpu.family = cpu_case.family;
    cpu.model = cpu_case.model;
    AssumeCoreComplexCache(cpu, &topology);
    EXPECT_EQ(CacheSize(topology, 3), cpu_case.assumed << 20);
    EXPECT_EQ(CacheSize(topology, 2), 1 << 20);
    EXPECT_EQ(topology.caches_doubt.empty(), cpu_case.reported == cpu_case.assumed)
        << cpu_case.reported;
  }
  Topology intel;
  intel.caches = {{3, "unified", std::int64_t{504} << 20, 64, 1, 2}};
  Cpu granite_rapids;
  granite_rapids.vendor = "GenuineIntel";
  granite_rapids.family = 6;
  granite_rapids.model = 0xAD;
  AssumeCoreComplexCache(granite_rapids, &intel);
  EXPECT_EQ(CacheSize(intel, 3), std::int64_t{504} << 20);
}

TEST(DescribeMachine, DescribesThisOne) {
  const Machine machine = DescribeMachine();
  EXPECT_GE(machine.topology.cpus, 1);
  EXPECT_FALSE(machine.topology.allowed.empty());
  EXPECT_GT(machine.topology.memory, 0);
  EXPECT_GT(machine.available_memory, 0);
  EXPECT_LE(machine.available_memory, machine.topology.memory);
  EXPECT_GT(machine.tsc.hz, 0);
#if defined(__aarch64__)
  EXPECT_EQ(machine.isas.size(), 2U);
#else
  EXPECT_EQ(machine.isas.size(), 9U);
#endif
  const auto json = ToJson(machine);
  EXPECT_EQ(json.at("cpu").at("vendor"), machine.cpu.vendor);
  EXPECT_EQ(json.at("isa").size() + json.at("isa_absent").size(), machine.isas.size());
  EXPECT_EQ(json.at("allowed_cpus").size(), machine.topology.allowed.size());
  EXPECT_EQ(json.dump().find("NaN"), std::string::npos);
}

TEST(DecideArmIsas, FollowsTheKernel) {
  constexpr std::uint64_t kNeoverseN1 = 0x119FFF;  // fp, asimd, ..., no SVE
  constexpr std::uint64_t kSve = 1 << 22;
  EXPECT_EQ(Usable(DecideArmIsas(kNeoverseN1)), (Names{"neon"}));
  EXPECT_EQ(DecideArmIsas(kNeoverseN1)[1].reason, "the kernel reports no sve (AT_HWCAP)");
  EXPECT_EQ(Usable(DecideArmIsas(kNeoverseN1 | kSve)), (Names{"neon", "sve"}));
}

TEST(Clock, IsConsistent) {
  const Frequency tsc = CalibrateTsc(0.002);
  EXPECT_GT(tsc.hz, 1e6);
  const std::uint64_t before = ReadTsc();
  EXPECT_GE(ReadTsc(), before);
  EXPECT_EQ(RunXorChain(0b1010, 0b0110, 1), 0b1100U);
  EXPECT_EQ(RunXorChain(0b1010, 0b0110, 2), 0b1010U);
  EXPECT_EQ(RunXorChain(7, 3, 0), 7U);
#if defined(__x86_64__)
  EXPECT_GT(CoreClock().hz, 1e8);
#endif
}

}  // namespace
}  // namespace topdnn
