#if defined(__x86_64__)

#include "harness/exact/instructions/restartable.h"

#include <linux/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace topdnn {

namespace {

// Precedes each abort handler: RSEQ_SIG of x86 (glibc, sys/rseq.h).
constexpr std::uint32_t kSignature = 0x53053053;

// Copies from an address that may be unmapped.
template <class T>
bool Peek(std::uint64_t address, T* to) {
  const iovec local = {to, sizeof *to};
  const iovec remote = {PointerTo<void>(address), sizeof *to};
  return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) == sizeof *to;
}

}  // namespace

bool NamesRestartable(const Instruction& i) noexcept {
  std::uint64_t address = 0;
  if (i.raw.mnemonic == ZYDIS_MNEMONIC_LEA && i.rip_relative) address = i.target;
  if (i.raw.mnemonic == ZYDIS_MNEMONIC_MOV && i.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    address = i.operands[1].imm.value.u;
  }
  constexpr std::uint64_t kLowest = 1U << 16;  // of any mapping
  if (address < kLowest || address % alignof(rseq_cs) != 0) return false;
  rseq_cs sequence = {};
  std::uint32_t signature = 0;
  return Peek(address, &sequence) && sequence.version == 0 && sequence.start_ip >= kLowest &&
         sequence.abort_ip >= kLowest && Peek(sequence.abort_ip - 4, &signature) &&
         signature == kSignature;
}

}  // namespace topdnn

#endif  // __x86_64__
