// Which instruction sets a program may use on this machine. On x86 it depends on the CPU (CPUID),
// on the register states that the operating system saves (XCR0), and for AMX on the kernel's
// permission per process (arch_prctl, Linux 5.16). On arm64 the kernel reports it (AT_HWCAP).
// Otherwise the code of an ISA fails with SIGILL, so all code compiled for an ISA checks here
// first.

#ifndef TOPDNN_HARNESS_MACHINE_ISA_H_
#define TOPDNN_HARNESS_MACHINE_ISA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/cpuid.h"

namespace topdnn {

enum class Isa {
  kSse2,
  kSse41,
  kAvx2,    // with FMA and F16C
  kAvx512,  // F, BW, DQ, VL: as in Skylake-X
  kAvx512Vnni,
  kAvx512Bf16,
  kAvx512Fp16,
  kAmxInt8,
  kAmxBf16,
  kNeon,  // Advanced SIMD of arm64, with fused multiply-add
  kSve,
};

// "sse2", "sse41", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_int8",
// "amx_bf16", "neon", "sve".
std::string_view NameOf(Isa isa);

struct IsaVerdict {
  Isa isa;
  bool usable = false;
  std::string reason;  // why it is not usable; empty if it is
};

// One verdict per Isa of x86, in the enumeration's order. `amx_permitted`: the kernel lets this
// process use the tile data state. Pure.
std::vector<IsaVerdict> DecideIsas(const CpuidLeaves& leaves, std::uint64_t xcr0,
                                   bool amx_permitted);

// The same for those of arm64, from the kernel's AT_HWCAP (arch/arm64/include/uapi/asm/hwcap.h).
// Pure.
std::vector<IsaVerdict> DecideArmIsas(std::uint64_t hwcap);

// The verdicts for this process. The first call requests AMX from the kernel if the CPU has it.
const std::vector<IsaVerdict>& MachineIsas();
bool HasIsa(Isa isa);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_ISA_H_
