#include "harness/hot/form_benchmark.h"

#if defined(__x86_64__)

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "harness/hot/instruction_form.h"
#include "harness/machine/clock.h"

// Runs the body at `code` (rdi) rsi times, with the benchmark's memory at rdx and its registers set
// up; rcx: whether there are registers of AVX-512. The body counts down rbp itself.
extern "C" void TopdnnHotRun(const void* code, std::int64_t times, void* memory, std::int64_t wide);
asm(R"(
  .text
  .globl TopdnnHotRun
  .hidden TopdnnHotRun
  .p2align 6
TopdnnHotRun:
  .irp saved, rbx, rbp, r12, r13, r14, r15, rdi
  push %\saved
  .endr
  mov %rsi, %rbp
  mov %rdx, %rsi
  lea 8192(%rdx), %rdi
  vzeroall
  test %rcx, %rcx
  jz 1f
  .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  vpxord %zmm\n, %zmm\n, %zmm\n
  .endr
  .irp n, 1, 2, 3, 4, 5, 6, 7
  kxnorw %k\n, %k\n, %k\n
  .endr
1:
  .irp r, eax, ebx, ecx, edx, r8d, r9d, r10d, r11d, r14d, r15d
  xor %\r, %\r
  .endr
  mov $3, %r12d
  mov $5, %r13d
  call *(%rsp)
  vzeroupper
  .irp saved, rdi, r15, r14, r13, r12, rbp, rbx
  pop %\saved
  .endr
  ret
)");

namespace topdnn {

namespace {

constexpr std::size_t kMemoryBytes = 64U << 10;
constexpr std::size_t kLineBytes = 64;

// Hands out the registers of one copy.
class Renaming {
 public:
  Renaming(std::size_t j, const BenchmarkRegisters& registers) : j_(j), registers_(registers) {}

  ZydisRegister Next(ZydisRegister old, bool written) {
    const int number = FollowedRegister(old);
    const auto kind = ZydisRegisterGetClass(old);
    if (number >= 48)
      return Take(kind, written, registers_.masks_to, registers_.masks_from, &masks_);
    if (IsFollowedVector(number)) {
      return Take(kind, written, registers_.vectors_to, registers_.vectors_from, &vectors_);
    }
    return General(kind,
                   written ? registers_.general_to[j_ % registers_.general_to.size()]
                           : registers_.general_from[general_++ % registers_.general_from.size()]);
  }

 private:
  // In registers of 8 bits, ah to bh follow bl.
  static ZydisRegister General(ZydisRegisterClass kind, int number) {
    const int base = kind == ZYDIS_REGCLASS_GPR8    ? ZYDIS_REGISTER_AL
                     : kind == ZYDIS_REGCLASS_GPR16 ? ZYDIS_REGISTER_AX
                     : kind == ZYDIS_REGCLASS_GPR32 ? ZYDIS_REGISTER_EAX
                                                    : ZYDIS_REGISTER_RAX;
    const int after = kind == ZYDIS_REGCLASS_GPR8 && number >= 4 ? 4 : 0;
    return static_cast<ZydisRegister>(base + number + after);
  }
  ZydisRegister Take(ZydisRegisterClass kind, bool written, const std::vector<int>& to,
                     const std::vector<int>& from, std::size_t* next) const {
    const int number = written ? to[j_ % to.size()] : from[(*next)++ % from.size()];
    return ZydisRegisterEncode(kind, static_cast<ZyanU8>(number));
  }

  std::size_t j_;
  const BenchmarkRegisters& registers_;
  std::size_t vectors_ = 0, general_ = 0, masks_ = 0;
};

bool IsWritten(const ZydisDecodedOperand& o) {
  return (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

// Replaces one operand of the request. `registers_alike`: all of them are one register.
void Rename(const ZydisDecodedOperand& o, std::size_t j, const BenchmarkRegisters& registers,
            bool registers_alike, Renaming& renaming, ZydisEncoderOperand& to) {
  if (o.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) return;
  if (o.type == ZYDIS_OPERAND_TYPE_REGISTER && o.encoding == ZYDIS_OPERAND_ENCODING_MASK) {
    if (o.reg.value != ZYDIS_REGISTER_K0) to.reg.value = ZYDIS_REGISTER_K7;
    return;
  }
  if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    to.reg.value = renaming.Next(o.reg.value, IsWritten(o) || registers_alike);
  } else if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    to.imm.u &= 0x7f;
  } else if (o.type == ZYDIS_OPERAND_TYPE_MEMORY && o.mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
    const auto from = [&](std::size_t k) {
      const auto& list = registers.general_from;
      return static_cast<ZydisRegister>(ZYDIS_REGISTER_RAX + list[k % list.size()]);
    };
    to.mem.base = from(0);
    if (to.mem.index != ZYDIS_REGISTER_NONE) to.mem.index = from(1);
  } else if (o.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    to.mem.base = IsWritten(o) ? ZYDIS_REGISTER_RDI : ZYDIS_REGISTER_RSI;
    to.mem.index = ZYDIS_REGISTER_NONE;
    to.mem.scale = 0;
    to.mem.displacement = static_cast<ZyanI64>(kLineBytes * (j % 32));
  }
}

std::vector<int> Range(int first, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

bool HasWideRegisters() { return __builtin_cpu_supports("avx512f") != 0; }

// The ticks of a cycle, by a chain of known length. A disturbance can only make it longer.
double TicksPerCycle() {
  constexpr int kWindows = 3;
  constexpr std::int64_t kIterations = 50;
  double fewest = std::numeric_limits<double>::infinity();
  for (int window = 0; window < kWindows; ++window) {
    const std::uint64_t begin = ReadTsc();
    const std::uint64_t value = RunXorChain(3, 5, kIterations);
    asm volatile("" : : "r"(value) : "memory");
    fewest = std::min(fewest, static_cast<double>(ReadTsc() - begin));
  }
  return fewest / (kIterations * kChainLength);
}

}  // namespace

const BenchmarkRegisters& RegistersOfForms(CopyUse use) {
  // rax, rcx, rdx and rbx are the probes', rsi, rdi and rbp the benchmark's.
  static const std::vector<int> general = Range(8, 4);
  static const BenchmarkRegisters alone = {Range(0, 12), Range(12, 4), general,
                                           {12, 13},     {1, 2, 3, 4}, {6, 7}};
  static const BenchmarkRegisters beside = {Range(0, 4), {12, 13},     general,
                                            {12, 13},    {1, 2, 3, 4}, {6, 7}};
  static const BenchmarkRegisters chain = {{0}, {0, 12}, {8}, {8, 12}, {1}, {1, 6}};
  return use == CopyUse::kAlone ? alone : use == CopyUse::kBeside ? beside : chain;
}

const BenchmarkRegisters& RegistersOfProbes(bool avx512) {
  static const BenchmarkRegisters wide = {Range(16, 11), {28, 29}, Range(0, 4),
                                          {12, 13},      {5},      {6, 7}};
  static const BenchmarkRegisters narrow = {Range(4, 8), {14, 15}, Range(0, 4), {12, 13}, {5}, {6}};
  return avx512 ? wide : narrow;
}

std::optional<MachineCode> EncodeCopy(const Instruction& i, std::size_t j,
                                      const BenchmarkRegisters& registers) {
  ZydisEncoderRequest request;
  if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
          &i.raw, i.operands, i.raw.operand_count_visible, &request))) {
    return std::nullopt;
  }
  Renaming renaming(j, registers);
  for (int k = 0; k < request.operand_count; ++k) {
    Rename(i.operands[k], j, registers, IsZeroIdiom(i), renaming, request.operands[k]);
  }
  std::uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
  ZyanUSize length = sizeof bytes;
  if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &length))) return std::nullopt;
  Instruction again;
  Decode(AddressOf(static_cast<const std::uint8_t*>(bytes)), &again);
  if (again.raw.length != length || FormOf(again) != FormOf(i)) return std::nullopt;
  return MachineCode(bytes, bytes + length);
}

FormBenchmarks::FormBenchmarks(const std::vector<std::vector<MachineCode>>& bodies) {
  MachineCode all;
  for (const std::vector<MachineCode>& body : bodies) {
    all.resize((all.size() + kLineBytes - 1) / kLineBytes * kLineBytes, 0x90);
    starts_.push_back(all.size());
    for (const MachineCode& one : body) all.insert(all.end(), one.begin(), one.end());
    const auto back =
        static_cast<std::int32_t>(starts_.back()) - static_cast<std::int32_t>(all.size() + 3 + 6);
    all.insert(all.end(), {0x48, 0xff, 0xcd, 0x0f, 0x85});  // dec rbp; jnz back
    const auto* distance = reinterpret_cast<const std::uint8_t*>(&back);
    all.insert(all.end(), distance, distance + 4);
    all.push_back(0xc3);
  }
  bytes_ = all.size();
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    failure_ = "no memory for the code that is timed";
    return;
  }
  code_ = static_cast<std::uint8_t*>(memory);
  std::memcpy(code_, all.data(), bytes_);
  if (mprotect(code_, bytes_, PROT_READ | PROT_EXEC) != 0) {
    failure_ = "the system refuses executable memory (mprotect, PROT_EXEC)";
  }
}

FormBenchmarks::~FormBenchmarks() {
  if (code_ != nullptr) munmap(code_, bytes_);
}

std::vector<double> FormBenchmarks::Cycles(int rounds) const {
  constexpr double kTicks = 20000;  // of a timed window: about 6 us
  constexpr int kWindows = 3;
  alignas(4096) static std::uint8_t memory[kMemoryBytes];
  std::vector<std::int64_t> times(starts_.size(), 0);
  std::vector<std::vector<double>> cycles(starts_.size());
  for (int round = 0; round < rounds; ++round) {
    double before = TicksPerCycle();
    for (std::size_t b = 0; b < starts_.size(); ++b) {
      const auto run = [&](std::int64_t n) {
        const std::uint64_t begin = ReadTsc();
        TopdnnHotRun(code_ + starts_[b], n, memory, HasWideRegisters() ? 1 : 0);
        return static_cast<double>(ReadTsc() - begin) / static_cast<double>(n);
      };
      constexpr std::int64_t kFew = 200;
      if (times[b] == 0) {
        run(kFew / 10);
        times[b] = std::max<std::int64_t>(
            kFew / 10, static_cast<std::int64_t>(kTicks / std::max(0.1, run(kFew))));
      }
      run(8);
      double ticks = run(times[b]);
      for (int window = 1; window < kWindows; ++window) ticks = std::min(ticks, run(times[b]));
      const double after = TicksPerCycle();
      cycles[b].push_back(ticks / std::min(before, after));
      before = after;
    }
  }
  // Other work adds cycles. On the other hardware thread of a core it adds some to most rounds, so
  // a median would be too high. The fewest may be those of a round with another clock.
  std::vector<double> few;
  few.reserve(cycles.size());
  for (std::vector<double>& one : cycles) {
    const auto second = one.begin() + (one.size() > 1 ? 1 : 0);
    std::nth_element(one.begin(), second, one.end());
    few.push_back(*second);
  }
  return few;
}

}  // namespace topdnn

#endif  // __x86_64__
