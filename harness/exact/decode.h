// Decodes and classifies one x86-64 instruction: where control goes, what it counts as.

#ifndef TOPDNN_HARNESS_EXACT_DECODE_H_
#define TOPDNN_HARNESS_EXACT_DECODE_H_

#include <Zydis/Zydis.h>

#include <cstdint>

#include "harness/exact/counts.h"

namespace topdnn {

// An address of the program as a pointer.
template <class T>
T* PointerTo(std::uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): code is data here
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
  kTileConfiguration,  // ldtilecfg, tilerelease: what tile instructions count changes
  kUnknown,            // cannot be decoded, or control goes where it cannot be followed
};

struct Instruction {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  std::uint64_t address;
  Flow flow;
  std::uint64_t target;               // of a direct branch
  bool rip_relative;                  // has a memory operand relative to the instruction's address
  bool overwrites_flags;              // writes all of CF PF AF ZF SF OF and reads none of them
  std::uint64_t rip_target;           // that operand's address
  std::uint32_t rep_load, rep_store;  // bytes an iteration of a `rep` string instruction moves

  std::uint64_t end() const { return address + raw.length; }
};

// Decodes at `address`, never reading past the instruction. Neither allocates nor throws.
void Decode(std::uint64_t address, Instruction* instruction) noexcept;

// What one execution counts as; dynamic parts (rep iterations, branches taken, tiles) left out.
void Classify(const Instruction& instruction, Tally* tally) noexcept;

// Fills the decoder's tables; before the first Decode, outside any counted region.
void PrepareDecoder();

// The 64-byte tile configuration that sttilecfg stores (Intel SDM, LDTILECFG).
struct TileConfiguration {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

// Operations of one execution of a tile instruction under a configuration; bytes for loads, stores.
struct TileWork {
  std::uint64_t bf16_flops = 0, int8_ops = 0, load_bytes = 0, store_bytes = 0;
};
bool IsTileWork(const Instruction& instruction) noexcept;
TileWork WorkOf(ZydisMnemonic mnemonic, int tile0, int tile1,
                const TileConfiguration& configuration) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_DECODE_H_
