// Code that every x86-64 processor runs and the exact counter does not translate.

#ifndef TOPDNN_TESTS_HARNESS_FAR_RETURN_H_
#define TOPDNN_TESTS_HARNESS_FAR_RETURN_H_

namespace topdnn {

// A far return to the next instruction, with the same code segment. (int $0x80, which the counter
// does not translate either, ends the process where the kernel runs 64-bit code only.)
inline void FarReturn() {
#if defined(__x86_64__)
  asm volatile(
      "sub $128, %%rsp\n"  // the red zone
      "mov %%cs, %%eax\n"
      "push %%rax\n"
      "lea 1f(%%rip), %%rax\n"
      "push %%rax\n"
      "lretq\n"
      "1: add $128, %%rsp"
      :
      :
      : "rax", "cc", "memory");
#endif
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_FAR_RETURN_H_
