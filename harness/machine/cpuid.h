// The x86 CPUID leaves that the project uses, as plain data. The features of a CPU are a pure
// function of them, so decisions can be tested with the leaves of other CPUs.

#ifndef TOPDNN_HARNESS_MACHINE_CPUID_H_
#define TOPDNN_HARNESS_MACHINE_CPUID_H_

#include <cstdint>
#include <map>
#include <utility>

namespace topdnn {

struct CpuidRegisters {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

// The leaves of one CPU by (leaf, subleaf). An absent leaf reads as zeros: none of its features is
// present.
class CpuidLeaves {
 public:
  CpuidLeaves() = default;
  explicit CpuidLeaves(std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> registers)
      : registers_(std::move(registers)) {}

  CpuidRegisters Leaf(std::uint32_t leaf, std::uint32_t subleaf = 0) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> registers_;
};

// The leaves of the CPU this thread runs on (basic up to 0x1A, and the hypervisor and extended
// leaves that the project reads); empty on another architecture.
CpuidLeaves ReadCpuid();

// XCR0: the register states that the operating system saves, so that programs may use them (Intel
// SDM volume 1, section 13.3); 0 if XGETBV is not enabled.
std::uint64_t ReadXcr0(const CpuidLeaves& leaves);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CPUID_H_
