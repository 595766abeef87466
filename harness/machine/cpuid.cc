#include "harness/machine/cpuid.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace topdnn {

CpuidRegisters CpuidLeaves::Leaf(std::uint32_t leaf, std::uint32_t subleaf) const {
  const auto found = registers_.find({leaf, subleaf});
  return found == registers_.end() ? CpuidRegisters{} : found->second;
}

#if defined(__x86_64__)

CpuidLeaves ReadCpuid() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> all;
  const auto read = [&all](std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidRegisters r;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    all[{leaf, subleaf}] = r;
    return r;
  };
  // Beyond its highest leaf an Intel CPU returns the data of the last one, so only leaves up to it
  // are read.
  const std::uint32_t highest = read(0, 0).eax;
  for (const std::uint32_t leaf : {0x1U, 0x7U, 0x15U, 0x16U, 0x1AU}) {
    if (leaf <= highest) read(leaf, 0);
  }
  if (highest >= 7 && all[{7, 0}].eax >= 1) read(7, 1);
  // The TLBs, one for each subleaf.
  const std::uint32_t tlbs = highest >= 0x18 ? read(0x18, 0).eax : 0;
  for (std::uint32_t tlb = 1; tlb <= tlbs; ++tlb) read(0x18, tlb);
  const bool hypervisor = (all[{1, 0}].ecx >> 31 & 1) != 0;
  if (hypervisor) read(0x40000000, 0);
  const std::uint32_t highest_extended = read(0x80000000, 0).eax;
  for (std::uint32_t leaf = 0x80000001; leaf <= 0x80000008 && leaf <= highest_extended; ++leaf) {
    read(leaf, 0);
  }
  if (highest_extended >= 0x80000021) read(0x80000021, 0);
  return CpuidLeaves(std::move(all));
}

std::uint64_t ReadXcr0(const CpuidLeaves& leaves) {
  const bool osxsave = (leaves.Leaf(1).ecx >> 27 & 1) != 0;
  if (!osxsave) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

#else

CpuidLeaves ReadCpuid() { return {}; }
std::uint64_t ReadXcr0(const CpuidLeaves&) { return 0; }

#endif

}  // namespace topdnn
