// Loops of instructions that are timed to find what instruction forms cost.

#ifndef TOPDNN_HARNESS_HOT_FORM_BENCHMARK_H_
#define TOPDNN_HARNESS_HOT_FORM_BENCHMARK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/exact/instructions/decode.h"

namespace topdnn {

// The registers that copies of an instruction use. Copy j writes to[j modulo their number].
struct BenchmarkRegisters {
  std::vector<int> vectors_to, vectors_from;
  std::vector<int> general_to, general_from;
  std::vector<int> masks_to, masks_from;
};

enum class CopyUse {
  kAlone,   // independent of each other
  kBeside,  // the same, beside instructions that keep a unit busy
  kChain,   // each the operand of the next
};
const BenchmarkRegisters& RegistersOfForms(CopyUse use);
// Instructions that keep a unit busy: their registers are not written by forms beside them.
const BenchmarkRegisters& RegistersOfProbes(bool avx512);

using MachineCode = std::vector<std::uint8_t>;

// Copy `j` of the instruction with those registers; memory at 64 * (j modulo 32). Absent if it
// cannot be encoded so.
std::optional<MachineCode> EncodeCopy(const Instruction& instruction, std::size_t j,
                                      const BenchmarkRegisters& registers);

// Loops of bodies of code, executable.
class FormBenchmarks {
 public:
  // The bodies must contain EncodeCopy's results alone.
  explicit FormBenchmarks(const std::vector<std::vector<MachineCode>>& bodies);
  ~FormBenchmarks();
  FormBenchmarks(const FormBenchmarks&) = delete;
  FormBenchmarks& operator=(const FormBenchmarks&) = delete;

  const std::string& failure() const { return failure_; }  // why nothing can run; or empty
  // The cycles of one iteration of each body: the second fewest of interleaved rounds.
  std::vector<double> Cycles(int rounds) const;

 private:
  std::vector<std::size_t> starts_;
  std::uint8_t* code_ = nullptr;
  std::size_t bytes_ = 0;
  std::string failure_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_FORM_BENCHMARK_H_
