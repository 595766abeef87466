// A thread's translator: saved registers, code cache, blocks and their counters.
//
// All memory that translated code uses lies within 2 GB of it and is addressed relative to RIP. So
// translated code needs no register, segment or stack of the program. While a region runs, this
// code does not allocate, lock or throw, because the region may be in the middle of malloc. The
// arrays are reserved address space: only the pages in use cost memory.

#ifndef TOPDNN_HARNESS_EXACT_CONTEXT_H_
#define TOPDNN_HARNESS_EXACT_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/exact/block_profile.h"
#include "harness/exact/instructions/counts.h"
#include "harness/exact/instructions/decode.h"
#include "harness/exact/redirect.h"

extern "C" void TopdnnExactStop();  // return address of translated code

namespace topdnn {

inline constexpr std::uint32_t kNone = 0xffffffffU;
inline constexpr std::size_t kMaxItems = 1U << 19;  // limit of each list
inline constexpr std::size_t kMarksPerItem = 4;
inline constexpr std::size_t kLookupSets = 1U << 16;
inline constexpr std::size_t kCodeBytes = 64U << 20;
inline constexpr std::size_t kXsaveBytes = 32U << 10;  // more than any XSAVE area
inline constexpr std::size_t kMaxBlockInstructions = 48;
inline constexpr std::size_t kMaxBlockBytes = kMaxBlockInstructions * ZYDIS_MAX_INSTRUCTION_LENGTH;
inline constexpr int kMaxLine = 16;  // blocks in a line

// An array that grows in reserved address space.
template <class T>
struct List {
  T* items;
  std::uint32_t count;

  T& Add(const T& item) { return items[count++] = item; }
  T* begin() const { return items; }
  T* end() const { return items + count; }
};

// Code that is always executed from its first instruction to its last.
struct Block {
  std::uint64_t start, end;
  const std::uint8_t* code;
  std::uint32_t counter;
  std::uint32_t place;  // index in Context::block_of; kNone: reached only from the previous block
  Tally content;
};

// An instruction whose effect does not follow from the count of its block.
struct Site {
  enum Kind : std::uint8_t { kBranch, kRep, kTile } kind;
  std::uint64_t address;    // of the instruction
  std::uint32_t block = 0;  // the counter of its block
  // kBranch: counter of the block on the fall-through path. kRep: first of two counters, the sums
  // of rcx before and after the instruction.
  std::uint32_t own = 0;
  std::uint32_t runs = 0;                           // kBranch: first of kRunCounters
  std::uint32_t load = 0, store = 0;                // kRep: bytes per iteration
  ZydisMnemonic mnemonic = ZYDIS_MNEMONIC_INVALID;  // kTile
  std::uint8_t tiles[2] = {};                       // kTile: tile register numbers
  std::uint64_t folded = 0;                         // kTile: executions already counted
};

struct Exit {
  enum Kind : std::uint8_t { kLink, kIndirect, kSystemCall, kTile, kStale, kChild } kind;
  std::uint64_t target;  // an address; kIndirect, kSystemCall: the end of the instruction
  // kSystemCall, kTile: where execution continues. Otherwise: the field to patch (see Patch), or
  // null.
  const std::uint8_t* field;
};

// What translated code has executed when it reaches `code`; valid up to the next mark. From the
// mark, MakeNative (state.cc) reconstructs the program's state when a signal arrives.
struct Mark {
  std::uint32_t code;           // offset from the start of the cache
  std::uint32_t block = kNone;  // index of the block
  std::uint64_t address = 0;    // of the next instruction
  bool counted = false;  // the count is done: of the block, or (no block) of the fall-through path
  bool whole = false;    // the whole block was executed
  bool alone = false;    // the next instruction was counted, by a block that is not known
  std::uint8_t spilled = 0;  // bit r < 3: register r is in spill[r]; bit 3: kFlagsInRax
  std::uint8_t far = 0;      // register saved in spill[3]; 0: none
  std::int16_t popped = 0;   // bytes by which the stack pointer has already moved
  std::uint32_t branch = 0;  // 1 + site of the branch that falls through to this block; 0: none
  std::uint32_t rep = 0;     // counter for rcx after a started `rep`; 0: none
};

struct BlockCount {
  std::uint64_t start, end, times;
};

struct TileOperations {
  std::uint64_t address, operations;
};

// Of a branch, for branch_runs.cc. The first three are negative: the executions of its block until
// the last one that was not taken, the executions that were not taken until the last taken one, and
// the lengths of the last pair of runs. The last two are those of ExecutedBranch.
enum RunCounter { kSeen, kSeenNotTaken, kPair, kScratch, kPairs, kIrregular };
inline constexpr std::uint32_t kRunCounters = 6;

// A two-way set of (negated address, code). Adding the target to a negated address gives 0 for a
// match, and LEA adds without changing the flags.
struct LookupSet {
  struct {
    std::uint64_t minus_address, code;
  } ways[2];
};

struct TeamCall;

struct Context {
  // Assembly uses these members by their offsets.
  std::uint64_t registers[16];  // 0: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15
  std::uint64_t flags;          // 128
  std::uint64_t go_to;          // 136: address at which the dispatcher returns
  std::uint64_t stack_top;      // 144: of the dispatcher's stack
  std::uint64_t xsave_area;     // 152
  std::uint64_t slow_path;      // 160
  std::uint64_t mask;           // 168: the program's signal mask, where `deferred` is set
  std::uint64_t spill[4];       // 176: rax, rcx, rdx, and the register that holds a far address
  std::uint64_t resume_code;    // 208: code that returns from the dispatcher to the cache
  // Target of an indirect branch, its code, and the index of the exit taken.
  std::uint64_t branch_target, jump_to, exit;
  std::uint64_t way_in;    // 240: TopdnnExactQuick or TopdnnExactCareful of dispatch.cc
  std::uint32_t busy;      // 248: the dispatcher runs, and signals are not blocked
  std::uint32_t deferred;  // 252: signals are blocked, and the way out restores `mask`

  // The address at which the program continues, and whether the instruction there (a system call or
  // a tile configuration) is already counted.
  std::uint64_t resume;
  bool resume_counted;
  // The signal frame that the next system call leaves, and the frame's original return address.
  std::uint64_t return_frame, return_address;

  std::uint64_t entry_rsp;  // the region's frames are below it; 0: no region runs
  std::uint64_t alternate_low, alternate_high;  // the alternate signal stack is part of the region
  const char* incomplete;                       // the first thing that was not counted; null: none
  std::uint64_t incomplete_address;
  // Number of flushes, of code changes already followed, and of threads or processes started by the
  // region.
  std::uint64_t generation, changes, children;
  std::uint32_t dispatching;  // dispatch_turn.cc
  std::uint32_t stale;        // number of blocks dropped because their code changed

  // The code cache, and the next free bytes of its two halves: blocks, and stubs that lead to the
  // dispatcher.
  const std::uint8_t *code_begin, *code, *stubs;
  const std::uint8_t *slow_stub, *lookup_code, *fixed_end;
  std::ptrdiff_t alias;  // distance from code to its writable mapping

  List<Block> blocks;
  List<Site> sites;
  List<Exit> exits;
  List<Mark> marks;               // sorted by code address
  Mark mark;                      // for the code being emitted
  List<std::uint64_t> counters;   // the first is always zero
  List<ExecutedBranch> branches;  // filled by Fold; an address may occur more than once
  // Executed blocks, filled by Fold; one may occur more than once.
  List<BlockCount> touched;
  List<TeamCall> team_calls;
  List<TileOperations> tiles;    // of each tile product, filled by Fold
  List<OperandRecord> operands;  // filled if the translation records them
  std::uint64_t stack;           // a place in the thread's stack
  RedirectArea* area;
  std::uint32_t* block_of;  // hash table: start address -> 1 + index of the block
  LookupSet* lookup;
  ExactCounts* counts;  // result of Fold
  Instruction decoded[kMaxBlockInstructions];
};

// context.cc. Maps a context; null and a reason in `*why` if the system refuses, or if the process
// has kMaxContexts (dispatch_turn.h). Contexts are never freed, because the threads of a pool come
// back.
Context* NewContext(std::string* why);
void Reset(Context* context) noexcept;  // discards all translations and counts before a region
Context*& CurrentContext() noexcept;    // of the calling thread; null: it runs natively
// Runs function(argument) translated.
void RunTranslated(Context* c, std::uint64_t function, std::uint64_t argument);
void Miss(Context* context, const char* what, std::uint64_t address) noexcept;

// translate.cc. Returns code for the block at `address` and translates it if needed; null: it
// cannot be translated.
const std::uint8_t* CodeFor(Context* context, std::uint64_t address) noexcept;
// branch_runs.cc. Emits what follows an execution of the branch that was not taken, before it is
// counted, and gives the branch its RunCounters.
void EmitRuns(Context* context, Site* branch) noexcept;
// fixed_code.cc. Emits the code that all blocks share.
void EmitFixedCode(Context* context) noexcept;
// translate.cc. Emits a system call that continues at `next`. A child that the call starts runs
// natively.
enum class ChildOf { kNoCall, kCallThatSharesMemory, kCallThatCopiesMemory };
void EmitSystemCall(Context* context, std::uint64_t next, ChildOf child) noexcept;
// Makes the exit jump directly to `code`, the translation of `target`, without the dispatcher.
void Patch(Context* context, const Exit& exit, std::uint64_t target,
           const std::uint8_t* code) noexcept;
// Discards the block at `address`, because the code there has changed.
void DropBlock(Context* context, std::uint64_t address) noexcept;

// fold.cc. Adds the counters to `counts` and clears them. FoldTiles: only those of tile
// instructions.
void Fold(Context* context) noexcept;
void FoldTiles(Context* context) noexcept;
void Flush(Context* context) noexcept;  // folds, then discards every translation

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_CONTEXT_H_
