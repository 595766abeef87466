// Decodes one x86-64 instruction: its control flow and what it counts as.

#ifndef TOPDNN_HARNESS_EXACT_INSTRUCTIONS_DECODE_H_
#define TOPDNN_HARNESS_EXACT_INSTRUCTIONS_DECODE_H_

#include <Zydis/Zydis.h>

#include <cstdint>

#include "harness/exact/instructions/counts.h"

namespace topdnn {

// Converts between an address of the program and a pointer.
template <class T>
T* PointerTo(std::uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): code is data here
}
template <class T>
std::uint64_t AddressOf(T* object) {
  return reinterpret_cast<std::uint64_t>(object);
}

enum class Flow {
  kNext,
  kConditional,  // jcc, loop, jrcxz
  kJump,
  kCall,
  kIndirectJump,
  kIndirectCall,
  kReturn,
  kSystemCall,
  kTileConfiguration,  // ldtilecfg, tilerelease: changes what tile instructions count
  kUnknown,            // cannot be decoded, or cannot be translated
};

// What an instruction overwrites completely without reading it: a general register except rsp and
// r12, by its number (0: rax), or the flags CF PF AF ZF SF OF. Inserted code may change it before
// the instruction.
enum { kNothing = -1, kFlags = 16 };

struct Instruction {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  std::uint64_t address;
  Flow flow;
  std::uint64_t target;  // of a direct branch, or of a memory operand relative to RIP
  bool rip_relative;
  bool rep;                   // `load` and `store` are per iteration
  bool tile;                  // `load` and `store` are 0: they depend on the tile configuration
  bool reads, writes;         // memory
  std::uint32_t load, store;  // bytes; masked lanes in full
  int overwrites;             // kNothing, kFlags or a register's number

  std::uint64_t end() const { return address + raw.length; }
};

// Decodes the instruction at `address` and reads no byte after it. If it cannot be decoded,
// raw.length is 0 and the flow kUnknown. Does not allocate or throw.
void Decode(std::uint64_t address, Instruction* instruction) noexcept;

// Adds one execution to `tally`, without the parts that depend on data: the bytes of rep
// iterations, branches taken, tiles.
void Classify(const Instruction& instruction, Tally* tally) noexcept;

// The general registers named by the operands from `first` on, in any width: bit 0 is rax.
std::uint32_t RegistersIn(const Instruction& instruction, int first) noexcept;

// Fills the decoder's tables. Call it before the first Decode and outside any counted region.
void PrepareDecoder();

// The 64-byte tile configuration that sttilecfg stores (Intel SDM, LDTILECFG).
struct TileConfiguration {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

// Adds the operations and bytes of `times` executions of a tile instruction.
void AddTiles(ZydisMnemonic mnemonic, int tile0, int tile1, const TileConfiguration& configuration,
              std::uint64_t times, ExactCounts* counts) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_INSTRUCTIONS_DECODE_H_
