#include "harness/machine/isa.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace topdnn {
namespace {

// A feature bit and where CPUID reports it (Intel SDM volume 2, CPUID; AMD APM volume 3,
// appendix E).
struct Feature {
  Isa isa;
  std::string_view name;
  std::uint32_t leaf;
  std::uint32_t subleaf;
  std::uint32_t CpuidRegisters::*place;
  int bit;
};

constexpr std::array kFeatures = {
    Feature{Isa::kSse2, "SSE2", 1, 0, &CpuidRegisters::edx, 26},
    Feature{Isa::kSse41, "SSE4.1", 1, 0, &CpuidRegisters::ecx, 19},
    Feature{Isa::kAvx2, "AVX", 1, 0, &CpuidRegisters::ecx, 28},
    Feature{Isa::kAvx2, "AVX2", 7, 0, &CpuidRegisters::ebx, 5},
    Feature{Isa::kAvx2, "FMA", 1, 0, &CpuidRegisters::ecx, 12},
    Feature{Isa::kAvx2, "F16C", 1, 0, &CpuidRegisters::ecx, 29},
    Feature{Isa::kAvx512, "AVX512F", 7, 0, &CpuidRegisters::ebx, 16},
    Feature{Isa::kAvx512, "AVX512DQ", 7, 0, &CpuidRegisters::ebx, 17},
    Feature{Isa::kAvx512, "AVX512BW", 7, 0, &CpuidRegisters::ebx, 30},
    Feature{Isa::kAvx512, "AVX512VL", 7, 0, &CpuidRegisters::ebx, 31},
    Feature{Isa::kAvx512Vnni, "AVX512_VNNI", 7, 0, &CpuidRegisters::ecx, 11},
    Feature{Isa::kAvx512Bf16, "AVX512_BF16", 7, 1, &CpuidRegisters::eax, 5},
    Feature{Isa::kAvx512Fp16, "AVX512_FP16", 7, 0, &CpuidRegisters::edx, 23},
    Feature{Isa::kAmxInt8, "AMX-TILE", 7, 0, &CpuidRegisters::edx, 24},
    Feature{Isa::kAmxInt8, "AMX-INT8", 7, 0, &CpuidRegisters::edx, 25},
    Feature{Isa::kAmxBf16, "AMX-TILE", 7, 0, &CpuidRegisters::edx, 24},
    Feature{Isa::kAmxBf16, "AMX-BF16", 7, 0, &CpuidRegisters::edx, 22},
};

// The requirements of an ISA besides its own feature bits.
struct Requirement {
  Isa isa;
  std::string_view name;
  std::uint64_t states;      // bits of XCR0 (Intel SDM volume 1, section 13.1)
  std::optional<Isa> below;  // the ISA whose instructions it extends
  bool permission;           // of the kernel, per process
};

constexpr std::uint64_t kAvxStates = 0x6;       // SSE, AVX
constexpr std::uint64_t kAvx512States = 0xE6;   // and opmask, upper ZMM0-15, ZMM16-31
constexpr std::uint64_t kTileStates = 0x60000;  // XTILECFG, XTILEDATA

constexpr std::array kRequirements = {
    Requirement{Isa::kSse2, "sse2", 0, std::nullopt, false},
    Requirement{Isa::kSse41, "sse41", 0, Isa::kSse2, false},
    Requirement{Isa::kAvx2, "avx2", kAvxStates, Isa::kSse41, false},
    Requirement{Isa::kAvx512, "avx512", kAvx512States, Isa::kAvx2, false},
    Requirement{Isa::kAvx512Vnni, "avx512_vnni", kAvx512States, Isa::kAvx512, false},
    Requirement{Isa::kAvx512Bf16, "avx512_bf16", kAvx512States, Isa::kAvx512, false},
    Requirement{Isa::kAvx512Fp16, "avx512_fp16", kAvx512States, Isa::kAvx512, false},
    Requirement{Isa::kAmxInt8, "amx_int8", kTileStates, std::nullopt, true},
    Requirement{Isa::kAmxBf16, "amx_bf16", kTileStates, std::nullopt, true},
};

struct ArmFeature {
  Isa isa;
  std::string_view name;
  std::string_view hwcap;
  int bit;
};

constexpr std::array kArmFeatures = {
    ArmFeature{Isa::kNeon, "neon", "asimd", 1},
    ArmFeature{Isa::kSve, "sve", "sve", 22},
};

bool Has(const CpuidLeaves& leaves, const Feature& feature) {
  return (leaves.Leaf(feature.leaf, feature.subleaf).*feature.place >> feature.bit & 1) != 0;
}

// Why an ISA is not usable, checking the CPU first; empty if it is usable.
std::string Denial(const Requirement& requirement, const CpuidLeaves& leaves, std::uint64_t xcr0,
                   bool amx_permitted) {
  for (const Feature& feature : kFeatures) {
    if (feature.isa == requirement.isa && !Has(leaves, feature)) {
      return fmt::format("the CPU reports no {}", feature.name);
    }
  }
  if ((xcr0 & requirement.states) != requirement.states) {
    return fmt::format("the operating system does not save its registers (XCR0 {:#x})", xcr0);
  }
  if (requirement.permission && !amx_permitted) {
    return "the kernel refuses the tile state to this process (needs Linux 5.16 or later)";
  }
  return "";
}

#if defined(__x86_64__)

// Linux, Documentation/arch/x86/xstate.rst. A permission, once given, stays and is inherited by
// threads and children.
bool RequestAmxPermission() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

std::vector<IsaVerdict> ReadIsas() {
  const CpuidLeaves leaves = ReadCpuid();
  const std::uint64_t xcr0 = ReadXcr0(leaves);
  // (a hypervisor may hide one of the two)
  const std::vector<IsaVerdict> if_permitted = DecideIsas(leaves, xcr0, true);
  const bool amx = std::any_of(if_permitted.begin(), if_permitted.end(), [](const IsaVerdict& one) {
    return one.usable && (one.isa == Isa::kAmxInt8 || one.isa == Isa::kAmxBf16);
  });
  return DecideIsas(leaves, xcr0, amx && RequestAmxPermission());
}

#elif defined(__aarch64__)

std::vector<IsaVerdict> ReadIsas() { return DecideArmIsas(getauxval(AT_HWCAP)); }

#else

std::vector<IsaVerdict> ReadIsas() { return {}; }

#endif

}  // namespace

std::string_view NameOf(Isa isa) {
  for (const Requirement& requirement : kRequirements) {
    if (requirement.isa == isa) return requirement.name;
  }
  for (const ArmFeature& feature : kArmFeatures) {
    if (feature.isa == isa) return feature.name;
  }
  return "";
}

std::vector<IsaVerdict> DecideIsas(const CpuidLeaves& leaves, std::uint64_t xcr0,
                                   bool amx_permitted) {
  std::vector<IsaVerdict> verdicts;
  for (const Requirement& requirement : kRequirements) {
    IsaVerdict verdict{requirement.isa, false, Denial(requirement, leaves, xcr0, amx_permitted)};
    for (const IsaVerdict& other : verdicts) {
      if (other.isa == requirement.below && !other.usable && verdict.reason.empty()) {
        verdict.reason = fmt::format("needs {}: {}", NameOf(other.isa), other.reason);
      }
    }
    verdict.usable = verdict.reason.empty();
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<IsaVerdict> DecideArmIsas(std::uint64_t hwcap) {
  std::vector<IsaVerdict> verdicts;
  for (const ArmFeature& feature : kArmFeatures) {
    const bool usable = (hwcap >> feature.bit & 1) != 0;
    verdicts.push_back(
        {feature.isa, usable,
         usable ? "" : fmt::format("the kernel reports no {} (AT_HWCAP)", feature.hwcap)});
  }
  return verdicts;
}

const std::vector<IsaVerdict>& MachineIsas() {
  static const std::vector<IsaVerdict> verdicts = ReadIsas();
  return verdicts;
}

bool HasIsa(Isa isa) {
  for (const IsaVerdict& verdict : MachineIsas()) {
    if (verdict.isa == isa) return verdict.usable;
  }
  return false;
}

}  // namespace topdnn
