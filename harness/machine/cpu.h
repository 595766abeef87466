// Identifies the CPU. The microarchitecture's name selects Top-Down tables and explains ceilings;
// family, model and stepping also identify an unknown CPU.

#ifndef TOPDNN_HARNESS_MACHINE_CPU_H_
#define TOPDNN_HARNESS_MACHINE_CPU_H_

#include <cstdint>
#include <string>

#include "harness/machine/cpuid.h"

namespace topdnn {

struct Cpu {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", "Arm"; empty: another Arm vendor
  std::string brand;   // as the CPU reports it; on Arm the microarchitecture
  std::string microarchitecture;  // "zen4", "sapphire_rapids", "neoverse_v1"; empty: unknown
  int family = 0;                 // displayed family and model, as lscpu shows them; Arm: 8, part
  int model = 0;
  int stepping = 0;
  std::string hypervisor;      // "KVM", "VMware"; empty: none, or not known (Arm)
  std::string doubt;           // why the model is not that of the CPU; empty if it may be
  bool invariant_tsc = false;  // ticks at one rate in every power state, on all cores alike
};

// From CPUID (Intel SDM volume 2; AMD APM volume 3, appendix E). Pure.
Cpu IdentifyX86(const CpuidLeaves& leaves);

// From Arm's main identification register MIDR_EL1 (Arm ARM, D19.2). Pure.
Cpu IdentifyArm(std::uint64_t midr);

// The CPU on which this thread runs; on Arm CPU 0.
Cpu IdentifyCpu();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CPU_H_
