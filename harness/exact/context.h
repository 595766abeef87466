// A thread's translator: saved registers, code cache, blocks and their counters.
//
// Everything that translated code touches lies within 2 GB of it, so that it is reached relative
// to RIP: no register, no segment and no stack of the program is taken. While a region runs,
// nothing here allocates, locks or throws: the region may be in the middle of malloc. The arrays
// are reserved address space, which costs memory only where it is used.

#ifndef TOPDNN_HARNESS_EXACT_CONTEXT_H_
#define TOPDNN_HARNESS_EXACT_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/exact/counts.h"
#include "harness/exact/decode.h"

extern "C" void TopdnnExactStop();  // where translated code returns to

namespace topdnn {

inline constexpr std::uint32_t kNone = 0xffffffffU;
inline constexpr std::size_t kMaxItems = 1U << 19;  // of each list
inline constexpr std::size_t kMarksPerItem = 4;
inline constexpr std::size_t kLookupSets = 1U << 16;
inline constexpr std::size_t kCodeBytes = 64U << 20;
inline constexpr std::size_t kXsaveBytes = 32U << 10;  // no processor saves more
inline constexpr std::size_t kMaxBlockInstructions = 48;

// An array that grows in reserved address space.
template <class T>
struct List {
  T* items;
  std::uint32_t count;

  T& Add(const T& item) { return items[count++] = item; }
  T* begin() const { return items; }
  T* end() const { return items + count; }
};

// Executed as a whole, from its first instruction to its last.
struct Block {
  std::uint64_t start, end;
  const std::uint8_t* code;
  std::uint32_t counter;
  std::uint32_t place;  // in Context::block_of; kNone: entered from the block before it alone
  Tally content;
};

// What a block's count does not tell.
struct Site {
  enum Kind : std::uint8_t { kBranch, kRep, kTile } kind;
  std::uint64_t address;    // of the instruction
  std::uint32_t block = 0;  // the counter of its block
  // kBranch: the counter of the block it falls through to; kRep: those of rcx before and after.
  std::uint32_t own = 0;
  std::uint32_t load = 0, store = 0;                // kRep: bytes per iteration
  ZydisMnemonic mnemonic = ZYDIS_MNEMONIC_INVALID;  // kTile
  std::uint8_t tiles[2] = {};                       // kTile: their numbers
  std::uint64_t folded = 0;                         // kTile: executions already counted
};

struct Exit {
  enum Kind : std::uint8_t { kLink, kIndirect, kSystemCall, kTile, kStale, kChild } kind;
  std::uint64_t target;  // address; kIndirect, kSystemCall: of the instruction's end
  // kSystemCall, kTile: where to go on; others: what to patch (see Patch), or null.
  const std::uint8_t* field;
};

// What translated code has done from `code` on, up to the next mark: by it a signal that comes
// there finds the state of the program (state.cc).
struct Mark {
  std::uint32_t code;           // offset from the cache's begin
  std::uint32_t block = kNone;  // its index
  std::uint64_t address = 0;    // of the instruction that comes next
  bool counted = false;         // the block, or without one the way past a branch
  bool whole = false;           // all of the block was executed
  bool alone = false;           // the next instruction was counted, by a block that is not known
  std::uint8_t spilled = 0;     // bit r: register r is in spill[r]
  std::uint8_t far = 0;         // a register that is in spill[3]; 0: none
  std::int16_t popped = 0;      // the stack pointer has moved by as much, too early
  std::uint32_t branch = 0;     // the site of the branch that falls through to the block, plus 1
  std::uint32_t rep = 0;        // the counter for rcx after a `rep` that has begun
};

struct CodeRange {
  std::uint64_t start, end;
};

struct BranchCount {
  std::uint64_t address, taken, not_taken;
};

// Two ways of (negated address, code): an addition tells equality without touching the flags.
struct LookupSet {
  struct {
    std::uint64_t minus_address, code;
  } ways[2];
};

struct TeamCall;

struct Context {
  // Reached by assembly at fixed offsets.
  std::uint64_t registers[16];  // 0: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15
  std::uint64_t flags;          // 128
  std::uint64_t go_to;          // 136: where dispatching ends
  std::uint64_t stack_top;      // 144: of the dispatcher's own stack
  std::uint64_t xsave_area;     // 152
  std::uint64_t slow_path;      // 160
  std::uint64_t mask;           // 168: the program's signal mask, while the dispatcher blocks all
  std::uint64_t spill[4];       // 176: rax, rcx, rdx, and the register of a far memory operand
  std::uint64_t resume_code;    // 208: the way from the dispatcher into the cache
  // Of an indirect branch, and its code; the index of the Exit taken.
  std::uint64_t branch_target, jump_to, exit;

  // What the dispatcher goes on with: its address, and whether the instruction there, a system call
  // or tile configuration, was counted already.
  std::uint64_t resume;
  bool resume_counted;
  // The signal frame that a system call is about to leave, and where it led.
  std::uint64_t return_frame, return_address;

  std::uint64_t entry_rsp;                      // the region's frames are below; 0: it does not run
  std::uint64_t alternate_low, alternate_high;  // signal stack: not an escape from the region
  const char* incomplete;                       // first thing missed; null: nothing
  std::uint64_t incomplete_address;
  // Flushes; changes of code by any thread, as far as followed; threads started by the region.
  std::uint64_t generation, changes, children;
  std::uint32_t dispatching;  // dispatch_turn.cc
  std::uint32_t stale;        // blocks that were dropped because their code changed

  // The cache; the next free bytes of its halves, for code and for ways to the dispatcher.
  const std::uint8_t *code_begin, *code, *stubs;
  const std::uint8_t *slow_stub, *lookup_code, *fixed_end;
  std::ptrdiff_t alias;  // from a byte of code to its writable mapping

  List<Block> blocks;
  List<Site> sites;
  List<Exit> exits;
  List<Mark> marks;              // in the order of the code
  Mark mark;                     // of what is being emitted
  List<std::uint64_t> counters;  // the first stays zero
  List<BranchCount> branches;    // as folded: an address may be there more than once
  List<CodeRange> touched;       // of blocks that ran, as folded
  List<TeamCall> team_calls;
  std::uint32_t* block_of;  // hash of a start address -> block + 1
  LookupSet* lookup;
  ExactCounts* counts;  // what was folded so far
  Instruction decoded[kMaxBlockInstructions];
};

// context.cc. Maps a context; null with `*why` where the machine refuses. Contexts are kept: a
// pool's threads come back.
Context* NewContext(std::string* why);
void Reset(Context* context) noexcept;  // ready for a region: nothing translated, nothing counted
Context*& CurrentContext() noexcept;    // of the calling thread while it runs translated
// Runs function(argument) translated.
void RunTranslated(Context* c, std::uint64_t function, std::uint64_t argument);
void Miss(Context* context, const char* what, std::uint64_t address) noexcept;

// translate.cc: code for the block at `address` (translated now or before); null: it cannot be.
const std::uint8_t* CodeFor(Context* context, std::uint64_t address) noexcept;
// fixed_code.cc: what every block shares.
void EmitFixedCode(Context* context) noexcept;
// translate.cc: a system call, then on to `next`; a child that it starts leaves translation.
enum class ChildOf { kNoCall, kCallThatSharesMemory, kCallThatCopiesMemory };
void EmitSystemCall(Context* context, std::uint64_t next, ChildOf child) noexcept;
// From now on the exit goes to `code`, the translation of `target`, without the dispatcher.
void Patch(Context* context, const Exit& exit, std::uint64_t target,
           const std::uint8_t* code) noexcept;
// The code at `address` is no longer what was translated: forgets its block.
void DropBlock(Context* context, std::uint64_t address) noexcept;

// fold.cc: counters into `counts`, leaving them zero; of tile instructions alone.
void Fold(Context* context) noexcept;
void FoldTiles(Context* context) noexcept;
void Flush(Context* context) noexcept;  // folds, then forgets every translation

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_CONTEXT_H_
