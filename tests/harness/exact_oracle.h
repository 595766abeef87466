// The reference of the exact counter's tests: the processor's single-step trap (EFLAGS.TF), about 4
// us per instruction.

#ifndef TOPDNN_TESTS_HARNESS_EXACT_ORACLE_H_
#define TOPDNN_TESTS_HARNESS_EXACT_ORACLE_H_

#if defined(__x86_64__)

#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace topdnn {

struct Stepping {
  static inline std::uint64_t instructions, previous, end;

  static bool IsRep(std::uint64_t address) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(address);
    if (*code != 0xf3 && *code != 0xf2) return false;
    ++code;
    if ((*code & 0xf0) == 0x40) ++code;
    return (*code >= 0xa4 && *code <= 0xa7) || (*code >= 0xaa && *code <= 0xaf);
  }

  static void OnTrap(int, siginfo_t*, void* state) {
    auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
    if (previous != 0) {
      // Each iteration of a `rep` traps, but it is one instruction.
      if (rip != previous || !IsRep(rip)) ++instructions;
      // The instruction after a system call does not trap, because the kernel returns after it.
      const auto* code = reinterpret_cast<const std::uint8_t*>(previous);
      if (previous < 0x800000000000U && code[0] == 0x0f && code[1] == 0x05) ++instructions;
    }
    previous = rip;
    if (rip == end) registers[REG_EFL] &= ~0x100LL;
  }
};

// The number of instructions of function(argument), including its return.
inline std::uint64_t SingleStep(void (*function)(void*), void* argument) {
  struct sigaction ours = {};
  struct sigaction old = {};
  ours.sa_sigaction = Stepping::OnTrap;
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &ours, &old);
  Stepping::instructions = Stepping::previous = 0;
  std::uint64_t* end = &Stepping::end;
  // The trap flag takes effect after one more instruction, the call.
  asm volatile(
      "lea 1f(%%rip), %%rax\n\t"
      "mov %%rax, (%1)\n\t"
      "mov %%rsp, %%rbx\n\t"
      "sub $256, %%rsp\n\t"
      "and $-64, %%rsp\n\t"
      "pushfq\n\t"
      "orq $0x100, (%%rsp)\n\t"
      "popfq\n\t"
      "call *%2\n"
      "1:\n\t"
      "mov %%rbx, %%rsp\n\t"
      : "+D"(argument), "+r"(end), "+r"(function)
      :
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "memory", "cc", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
  sigaction(SIGTRAP, &old, nullptr);
  return Stepping::instructions;
}

}  // namespace topdnn

#endif  // __x86_64__

#endif  // TOPDNN_TESTS_HARNESS_EXACT_ORACLE_H_
