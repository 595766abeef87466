#include "harness/machine/cpu.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace topdnn {
namespace {

enum class CoreKind { kAny, kPerformance, kEfficient };

// Family and model to microarchitecture, by ranges of model and stepping. Source: the Linux
// kernel's arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c; hybrid parts are
// distinguished by leaf 0x1A (SDM, CPUID: core type 0x20 Atom, 0x40 Core). The first matching row
// is used.
struct CpuRow {
  std::string_view vendor;
  int family;
  int model_first;
  int model_last;
  int stepping_first;
  int stepping_last;
  CoreKind kind;
  std::string_view name;
};

constexpr std::string_view kIntel = "GenuineIntel";
constexpr std::string_view kAmd = "AuthenticAMD";
constexpr CoreKind kAny = CoreKind::kAny;
constexpr CoreKind kP = CoreKind::kPerformance;
constexpr CoreKind kE = CoreKind::kEfficient;

constexpr std::array kCpuRows = {
    CpuRow{kIntel, 6, 0x3C, 0x3C, 0, 15, kAny, "haswell"},
    CpuRow{kIntel, 6, 0x45, 0x46, 0, 15, kAny, "haswell"},
    CpuRow{kIntel, 6, 0x3F, 0x3F, 0, 15, kAny, "haswell_x"},
    CpuRow{kIntel, 6, 0x3D, 0x3D, 0, 15, kAny, "broadwell"},
    CpuRow{kIntel, 6, 0x47, 0x47, 0, 15, kAny, "broadwell"},
    CpuRow{kIntel, 6, 0x4F, 0x4F, 0, 15, kAny, "broadwell_x"},
    CpuRow{kIntel, 6, 0x56, 0x56, 0, 15, kAny, "broadwell_x"},
    CpuRow{kIntel, 6, 0x4E, 0x4E, 0, 15, kAny, "skylake"},
    CpuRow{kIntel, 6, 0x5E, 0x5E, 0, 15, kAny, "skylake"},
    CpuRow{kIntel, 6, 0x8E, 0x8E, 0, 15, kAny, "skylake"},  // Kaby, Coffee, Whiskey Lake
    CpuRow{kIntel, 6, 0x9E, 0x9E, 0, 15, kAny, "skylake"},
    CpuRow{kIntel, 6, 0xA5, 0xA6, 0, 15, kAny, "skylake"},  // Comet Lake
    CpuRow{kIntel, 6, 0x55, 0x55, 0, 4, kAny, "skylake_x"},
    CpuRow{kIntel, 6, 0x55, 0x55, 5, 9, kAny, "cascade_lake_x"},
    CpuRow{kIntel, 6, 0x55, 0x55, 10, 15, kAny, "cooper_lake_x"},
    CpuRow{kIntel, 6, 0x7D, 0x7E, 0, 15, kAny, "ice_lake"},
    CpuRow{kIntel, 6, 0x6A, 0x6A, 0, 15, kAny, "ice_lake_x"},
    CpuRow{kIntel, 6, 0x6C, 0x6C, 0, 15, kAny, "ice_lake_x"},
    CpuRow{kIntel, 6, 0x8C, 0x8D, 0, 15, kAny, "tiger_lake"},
    CpuRow{kIntel, 6, 0xA7, 0xA7, 0, 15, kAny, "rocket_lake"},
    CpuRow{kIntel, 6, 0x8F, 0x8F, 0, 15, kAny, "sapphire_rapids"},
    CpuRow{kIntel, 6, 0xCF, 0xCF, 0, 15, kAny, "emerald_rapids"},
    CpuRow{kIntel, 6, 0xAD, 0xAE, 0, 15, kAny, "granite_rapids"},
    CpuRow{kIntel, 6, 0xAF, 0xAF, 0, 15, kAny, "sierra_forest"},
    CpuRow{kIntel, 6, 0xB6, 0xB6, 0, 15, kAny, "grand_ridge"},
    CpuRow{kIntel, 6, 0xDD, 0xDD, 0, 15, kAny, "clearwater_forest"},
    CpuRow{kIntel, 6, 0xBE, 0xBE, 0, 15, kAny, "gracemont"},  // Alder Lake-N has E cores only
    CpuRow{kIntel, 6, 0x97, 0x97, 0, 15, kE, "gracemont"},
    CpuRow{kIntel, 6, 0x9A, 0x9A, 0, 15, kE, "gracemont"},
    CpuRow{kIntel, 6, 0xB7, 0xB7, 0, 15, kE, "gracemont"},
    CpuRow{kIntel, 6, 0xBA, 0xBA, 0, 15, kE, "gracemont"},
    CpuRow{kIntel, 6, 0xBF, 0xBF, 0, 15, kE, "gracemont"},
    CpuRow{kIntel, 6, 0x97, 0x97, 0, 15, kP, "alder_lake_p"},
    CpuRow{kIntel, 6, 0x9A, 0x9A, 0, 15, kP, "alder_lake_p"},
    CpuRow{kIntel, 6, 0xB7, 0xB7, 0, 15, kP, "raptor_lake_p"},
    CpuRow{kIntel, 6, 0xBA, 0xBA, 0, 15, kP, "raptor_lake_p"},
    CpuRow{kIntel, 6, 0xBF, 0xBF, 0, 15, kP, "raptor_lake_p"},
    CpuRow{kIntel, 6, 0xAA, 0xAC, 0, 15, kP, "meteor_lake_p"},
    CpuRow{kIntel, 6, 0xAA, 0xAC, 0, 15, kE, "crestmont"},
    CpuRow{kIntel, 6, 0xBD, 0xBD, 0, 15, kP, "lunar_lake_p"},
    CpuRow{kIntel, 6, 0xBD, 0xBD, 0, 15, kE, "skymont"},
    CpuRow{kIntel, 6, 0xB5, 0xB5, 0, 15, kP, "meteor_lake_p"},  // Arrow Lake-U: Redwood Cove
    CpuRow{kIntel, 6, 0xB5, 0xB5, 0, 15, kE, "crestmont"},
    CpuRow{kIntel, 6, 0xC5, 0xC6, 0, 15, kP, "arrow_lake_p"},
    CpuRow{kIntel, 6, 0xC5, 0xC6, 0, 15, kE, "skymont"},
    CpuRow{kIntel, 6, 0xCC, 0xCC, 0, 15, kP, "panther_lake_p"},
    CpuRow{kIntel, 6, 0xD5, 0xD5, 0, 15, kP, "panther_lake_p"},  // Wildcat Lake
    CpuRow{kIntel, 6, 0xE5, 0xE5, 0, 15, kP, "panther_lake_p"},
    CpuRow{kIntel, 6, 0xCC, 0xCC, 0, 15, kE, "darkmont"},
    CpuRow{kIntel, 6, 0xD5, 0xD5, 0, 15, kE, "darkmont"},
    CpuRow{kIntel, 6, 0xE5, 0xE5, 0, 15, kE, "darkmont"},
    CpuRow{kIntel, 18, 0x00, 0xFF, 0, 15, kP, "nova_lake_p"},
    CpuRow{kIntel, 18, 0x00, 0xFF, 0, 15, kE, "nova_lake_e"},
    CpuRow{kAmd, 0x17, 0x00, 0x2F, 0, 15, kAny, "zen"},
    CpuRow{kAmd, 0x17, 0x30, 0xFF, 0, 15, kAny, "zen2"},
    CpuRow{kAmd, 0x19, 0x00, 0x0F, 0, 15, kAny, "zen3"},
    CpuRow{kAmd, 0x19, 0x10, 0x1F, 0, 15, kAny, "zen4"},
    CpuRow{kAmd, 0x19, 0x20, 0x5F, 0, 15, kAny, "zen3"},
    CpuRow{kAmd, 0x19, 0x60, 0xAF, 0, 15, kAny, "zen4"},
    CpuRow{kAmd, 0x1A, 0x50, 0x5F, 0, 15, kAny, "zen6"},
    CpuRow{kAmd, 0x1A, 0x80, 0xAF, 0, 15, kAny, "zen6"},
    CpuRow{kAmd, 0x1A, 0xC0, 0xCF, 0, 15, kAny, "zen6"},
    CpuRow{kAmd, 0x1A, 0x00, 0x7F, 0, 15, kAny, "zen5"},  // others of the family: not known
};

// Implementers and part numbers: the kernel's arch/arm64/include/asm/cputype.h. A licensee's core
// has the licensee's number and Arm's part: Azure Cobalt 100 is a Neoverse N2.
struct ArmPart {
  unsigned implementer;
  unsigned part;
  std::string_view name;
};
constexpr unsigned kArm = 0x41;
constexpr std::array kArmParts = {
    ArmPart{kArm, 0xD07, "cortex_a57"},  ArmPart{kArm, 0xD08, "cortex_a72"},
    ArmPart{kArm, 0xD0B, "cortex_a76"},  ArmPart{kArm, 0xD0C, "neoverse_n1"},
    ArmPart{kArm, 0xD40, "neoverse_v1"}, ArmPart{kArm, 0xD49, "neoverse_n2"},
    ArmPart{kArm, 0xD4F, "neoverse_v2"}, ArmPart{kArm, 0xD83, "neoverse_v3"},
    ArmPart{kArm, 0xD84, "neoverse_v3"}, ArmPart{kArm, 0xD8E, "neoverse_n3"},
    ArmPart{0x48, 0xD01, "tsv110"},      ArmPart{0x4E, 0x010, "olympus"},
    ArmPart{0x6D, 0xD49, "neoverse_n2"}, ArmPart{0xC0, 0xAC3, "ampere_one"},
    ArmPart{0xC0, 0xAC4, "ampere_one"},
};

std::string_view ArmVendor(unsigned implementer) {
  switch (implementer) {
    case kArm:
      return "Arm";
    case 0x48:
      return "HiSilicon";
    case 0x4E:
      return "NVIDIA";
    case 0x6D:
      return "Microsoft";
    case 0xC0:
      return "Ampere";
    default:
      return "";
  }
}

// Four ASCII characters per register, low byte first.
std::string Characters(std::initializer_list<std::uint32_t> registers) {
  std::string text;
  for (const std::uint32_t value : registers) {
    for (int shift = 0; shift < 32; shift += 8) {
      text.push_back(static_cast<char>(value >> shift & 0xFF));
    }
  }
  return text;
}

// Up to the first NUL, without surrounding blanks.
std::string Trimmed(const std::string& padded) {
  const std::string text = padded.substr(0, padded.find('\0'));
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string HypervisorName(const CpuidLeaves& leaves) {
  if ((leaves.Leaf(1).ecx >> 31 & 1) == 0) return "";
  const CpuidRegisters r = leaves.Leaf(0x40000000);
  const std::string signature = Trimmed(Characters({r.ebx, r.ecx, r.edx}));
  constexpr std::array<std::array<std::string_view, 2>, 6> kNames = {{
      {"KVMKVMKVM", "KVM"},
      {"Linux KVM Hv", "KVM"},
      {"Microsoft Hv", "Hyper-V"},
      {"VMwareVMware", "VMware"},
      {"XenVMMXenVMM", "Xen"},
      {"TCGTCGTCGTCG", "QEMU TCG"},
  }};
  for (const auto& [known, name] : kNames) {
    if (signature == known) return std::string(name);
  }
  return signature.empty() ? "unnamed" : signature;
}

std::string_view Microarchitecture(const Cpu& cpu, CoreKind kind) {
  for (const CpuRow& row : kCpuRows) {
    if (cpu.vendor == row.vendor && cpu.family == row.family && cpu.model >= row.model_first &&
        cpu.model <= row.model_last && cpu.stepping >= row.stepping_first &&
        cpu.stepping <= row.stepping_last && (row.kind == kAny || row.kind == kind)) {
      return row.name;
    }
  }
  return "";
}

// A hypervisor may give any model. These features came with Sapphire Rapids (SDM, CPUID leaf 7;
// Alder Lake's first steppings had AVX512-FP16, too), so an older model that has one is not the
// CPU's.
void MendModel(const CpuidLeaves& leaves, Cpu& cpu) {
  constexpr std::uint32_t kFp16OrAmx = 1U << 23 | 1U << 24;
  constexpr std::array<std::string_view, 7> kNewer = {"",
                                                      "sapphire_rapids",
                                                      "emerald_rapids",
                                                      "granite_rapids",
                                                      "alder_lake_p",
                                                      "nova_lake_p",
                                                      "nova_lake_e"};
  if (cpu.vendor != kIntel || (leaves.Leaf(7).edx & kFp16OrAmx) == 0) return;
  if (std::find(kNewer.begin(), kNewer.end(), cpu.microarchitecture) != kNewer.end()) return;
  cpu.doubt =
      "CPUID names " + cpu.microarchitecture +
      ", which has neither AVX512-FP16 nor AMX: taken for sapphire_rapids, the first with them";
  cpu.microarchitecture = "sapphire_rapids";
}

}  // namespace

Cpu IdentifyX86(const CpuidLeaves& leaves) {
  Cpu cpu;
  const CpuidRegisters vendor = leaves.Leaf(0);
  cpu.vendor = Trimmed(Characters({vendor.ebx, vendor.edx, vendor.ecx}));
  const std::uint32_t signature = leaves.Leaf(1).eax;
  cpu.stepping = static_cast<int>(signature & 0xF);
  cpu.model = static_cast<int>(signature >> 4 & 0xF);
  cpu.family = static_cast<int>(signature >> 8 & 0xF);
  if (cpu.family == 6 || cpu.family == 15) {
    cpu.model += static_cast<int>(signature >> 16 & 0xF) << 4;
  }
  if (cpu.family == 15) cpu.family += static_cast<int>(signature >> 20 & 0xFF);
  std::string brand;
  for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const CpuidRegisters r = leaves.Leaf(leaf);
    brand += Characters({r.eax, r.ebx, r.ecx, r.edx});
  }
  cpu.brand = Trimmed(brand);
  const std::uint32_t core_type = leaves.Leaf(0x1A).eax >> 24;
  cpu.microarchitecture = Microarchitecture(cpu, core_type == 0x20 ? kE : kP);
  MendModel(leaves, cpu);
  cpu.hypervisor = HypervisorName(leaves);
  cpu.invariant_tsc = (leaves.Leaf(0x80000007).edx >> 8 & 1) != 0;
  return cpu;
}

Cpu IdentifyArm(std::uint64_t midr) {
  Cpu cpu;
  const auto implementer = static_cast<unsigned>(midr >> 24 & 0xFF);
  const auto part = static_cast<unsigned>(midr >> 4 & 0xFFF);
  cpu.vendor = ArmVendor(implementer);
  cpu.family = 8;
  cpu.model = static_cast<int>(part);
  cpu.stepping = static_cast<int>((midr >> 20 & 0xF) << 4 | (midr & 0xF));  // rNpM
  for (const ArmPart& known : kArmParts) {
    if (known.implementer == implementer && known.part == part) {
      cpu.microarchitecture = known.name;
    }
  }
  cpu.brand = cpu.microarchitecture;
  cpu.invariant_tsc = true;  // the generic timer's frequency is fixed (Arm ARM, D11.1)
  return cpu;
}

Cpu IdentifyCpu() {
#if defined(__x86_64__)
  return IdentifyX86(ReadCpuid());
#else
  std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  std::uint64_t midr = 0;
  file >> std::hex >> midr;
  return IdentifyArm(midr);
#endif
}

}  // namespace topdnn
