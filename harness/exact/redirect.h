// Translation with the data of a region in L1: the vector operands in memory that point to its data
// are replaced by a few lines that stay in L1. All other instructions and operands are unchanged,
// so the region executes the same instructions as if every access to its data hit L1.
//
// Loads and stores use lines in separate halves of a page. A store on the line of a load would be a
// dependency that the region does not have, and so would, on many cores, one with the same low 12
// bits. An operand keeps its place within the line.
//
// With placeholders, the work is left out as well: these instructions, and arithmetic on vector
// registers, become moves of a register to itself, of the same length. The time that is left is
// that in which the front end delivers the instructions.

#ifndef TOPDNN_HARNESS_EXACT_REDIRECT_H_
#define TOPDNN_HARNESS_EXACT_REDIRECT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace topdnn {

struct Context;
struct Instruction;

inline constexpr std::uint32_t kLineBytes = 64;
// The last line of each half page is only reached by operands that cross from the line before it.
inline constexpr std::uint32_t kLinesPerHalf = 31;
inline constexpr std::uint32_t kLoadLines = 4 * kLinesPerHalf;
inline constexpr std::uint32_t kStoreLines = 2 * kLinesPerHalf;

// The memory that translated code uses for operands, near the code.
struct RedirectArea {
  alignas(4096) std::uint8_t lines[4 * 4096];
};

// What was seen of an instruction's memory operand in a run that recorded addresses.
struct OperandRecord {
  std::uint64_t crossings;        // executions that crossed into the next line
  std::uint64_t low, high, last;  // addresses
  std::uint64_t instruction;
  std::uint64_t times;      // executions
  std::uint64_t rep_bytes;  // moved by the iterations of a `rep`
  std::uint32_t counter;    // of the block; kNone: already in `times`
  std::uint32_t size;
  bool store;
  bool vector;    // a vector register is the other operand, so it can be redirected
  bool floats;    // at least 256 bits wide, or floating-point arithmetic
  bool prefetch;  // moves no data
};

struct RedirectedOperand {
  std::uint64_t instruction;
  std::uint32_t place;  // in RedirectArea::lines
};

struct AddressRange {
  std::uint64_t low, high;
};

// Which operands are redirected, and what their lines contain.
struct Redirection {
  std::vector<RedirectedOperand> operands;  // sorted by instruction
  // Copies of the lines to which the loads pointed: so they hold values of the region.
  std::vector<std::uint8_t> lines;
  double redirected_bytes = 0;  // that the redirected operands move in one run
  double kept_bytes = 0;        // that other operands move to or from the region's data
  // Crossings of lines in one run: of the region, and with redirected operands.
  double crossings = 0;
  double redirected_crossings = 0;
  bool placeholders = false;  // as above
};

// What is emitted for an instruction or a block.
struct Translation {
  bool counts = true;
  bool records = false;                      // the addresses of memory operands
  const Redirection* redirection = nullptr;  // null: operands are unchanged
};
// Of the region that runs.
Translation& CurrentTranslation() noexcept;

// Emits code that records the address of the operand of the next instruction.
void EmitRecord(Context* context, const Instruction& instruction, std::uint32_t counter) noexcept;
// Emits the instruction with its operand redirected, or a placeholder; false: it does not change.
bool EmitRedirected(Context* context, const Instruction& instruction) noexcept;
// Before a region: the contents of the lines.
void PrepareArea(Context* context) noexcept;

// Chooses the operands. `tensors` hold no addresses, so every vector operand whose addresses all
// lie in one of them is redirected. In other private memory (scratch memory of libraries) only wide
// ones and arithmetic are, and only if no word at their last address could be a pointer: compilers
// keep pointers in vector registers. `stacks`: a place in the stack of each thread.
Redirection ChooseOperands(const std::vector<OperandRecord>& records,
                           std::span<const std::span<const std::byte>> tensors,
                           const std::vector<std::uint64_t>& stacks);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_REDIRECT_H_
