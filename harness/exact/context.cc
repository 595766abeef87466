// A translator's memory, and the entry to translated code.

#if defined(__x86_64__)

#include "harness/exact/context.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "harness/exact/dispatch_turn.h"
#include "harness/exact/mappings.h"
#include "harness/exact/threads.h"

extern "C" void TopdnnExactSlowPath(), TopdnnExactQuick(), TopdnnExactCareful();
extern "C" void TopdnnExactEnter(std::uint64_t argument, const std::uint8_t* code,
                                 std::uint64_t* entry_rsp);

// A call from here enters translated code, so that exceptions can unwind to C++. It returns to
// TopdnnExactStop, an address that the dispatcher recognizes. TopdnnExactEnter sets and clears
// *entry_rsp itself, so a signal that arrives one instruction before or after the region loses no
// count (LeaveEdge in signals.cc).
asm(R"(
  .text
  .irp label, Enter, Begin, Call, Stop, Left
  .globl TopdnnExact\label
  .hidden TopdnnExact\label
  .endr
TopdnnExactEnter:
  .cfi_startproc
  .irp saved, rbp, rbx, r12, r13, r14, r15
  push %\saved
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %\saved, 0
  .endr
  push %rdx
  .cfi_adjust_cfa_offset 8
TopdnnExactBegin:
  mov %rsp, (%rdx)
TopdnnExactCall:
  call *%rsi
TopdnnExactStop:
  pop %rdx
  .cfi_adjust_cfa_offset -8
  movq $0, (%rdx)
  .irp saved, r15, r14, r13, r12, rbx, rbp
  pop %\saved
  .cfi_adjust_cfa_offset -8
  .endr
  ret
TopdnnExactLeft:
  .cfi_endproc
)");

namespace topdnn {

namespace {

constexpr std::size_t kStackBytes = 512U << 10;

// Hands out page-aligned ranges of one zeroed mapping.
class Arena {
 public:
  template <class T>
  T* Take(std::size_t count) {
    auto* place = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 4095) & ~std::size_t{4095};
    return place;
  }
  std::uint8_t* base_ = nullptr;
  std::size_t used_ = 0;
};

// Assigns the arrays. With an arena that has no base it only computes the size. The caller's
// context is static because it is too large for a small stack.
void LayOut(Arena* arena, Context* c) {
  c->stack_top = AddressOf(arena->Take<std::uint8_t>(kStackBytes)) + kStackBytes;
  c->xsave_area = AddressOf(arena->Take<std::uint8_t>(kXsaveBytes));
  c->lookup = arena->Take<LookupSet>(kLookupSets);
  c->counters.items = arena->Take<std::uint64_t>(kMaxItems);
  c->blocks.items = arena->Take<Block>(kMaxItems);
  c->block_of = arena->Take<std::uint32_t>(2 * kMaxItems);
  c->sites.items = arena->Take<Site>(kMaxItems);
  c->exits.items = arena->Take<Exit>(kMaxItems);
  c->marks.items = arena->Take<Mark>(kMarksPerItem * kMaxItems);
  c->branches.items = arena->Take<ExecutedBranch>(kMaxItems);
  c->touched.items = arena->Take<BlockCount>(kMaxItems);
  c->team_calls.items = arena->Take<TeamCall>(kMaxItems);
  c->tiles.items = arena->Take<TileOperations>(kMaxItems);
  c->operands.items = arena->Take<OperandRecord>(kMaxItems);
  c->counts = arena->Take<ExactCounts>(1);
  c->area = arena->Take<RedirectArea>(1);
  c->code_begin = arena->Take<std::uint8_t>(kCodeBytes);
}

}  // namespace

Context* NewContext(std::string* why) {
  Arena arena;
  const std::size_t head = (sizeof(Context) + 4095) & ~std::size_t{4095};
  static Context for_its_size;
  LayOut(&arena, &for_its_size);
  const std::size_t total = head + arena.used_;
  auto* base = static_cast<std::uint8_t*>(mmap(nullptr, total, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) {
    *why = "cannot reserve address space for the code cache";
    return nullptr;
  }
  auto* c = new (base) Context();
  arena = {base + head, 0};
  LayOut(&arena, c);
  // The code is mapped twice, executable and writable: some systems refuse one mapping with both
  // rights.
  auto* code = const_cast<std::uint8_t*>(c->code_begin);
  const int file = memfd_create("topdnn-code", MFD_CLOEXEC);
  void* writable = MAP_FAILED;
  if (file >= 0 && ftruncate(file, kCodeBytes) == 0 &&
      mmap(code, kCodeBytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file, 0) == code) {
    writable = mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) close(file);
  if (writable == MAP_FAILED) {
    munmap(base, total);
    *why = "the system refuses executable memory (memfd_create, PROT_EXEC)";
    return nullptr;
  }
  if (!RegisterContext(c)) {
    munmap(writable, kCodeBytes);
    munmap(base, total);
    *why = "no more than " + std::to_string(kMaxContexts) + " threads of a process are translated";
    return nullptr;
  }
  c->alias = static_cast<std::uint8_t*>(writable) - code;
  c->slow_path = AddressOf(&TopdnnExactSlowPath);
  new (c->counts) ExactCounts();
  Reset(c);
  return c;
}

void Reset(Context* c) noexcept {
  const DispatchTurn turn(c);
  c->incomplete = nullptr;
  c->children = 0;
  c->entry_rsp = c->return_frame = 0;
  c->busy = c->deferred = 0;
  stack_t alternate = {};
  sigaltstack(nullptr, &alternate);
  c->alternate_low = AddressOf(alternate.ss_sp);
  c->alternate_high = c->alternate_low + alternate.ss_size;
  c->way_in =
      AddressOf((alternate.ss_flags & SS_ONSTACK) != 0 ? &TopdnnExactCareful : &TopdnnExactQuick);
  Flush(c);
  *c->counts = ExactCounts();
  PrepareArea(c);
  c->touched.count = c->team_calls.count = c->branches.count = c->tiles.count = 0;
}

Context*& CurrentContext() noexcept {
  thread_local Context* current = nullptr;
  return current;
}

void RunTranslated(Context* c, std::uint64_t function, std::uint64_t argument) {
  const std::uint8_t* code = nullptr;
  {
    const DispatchTurn turn(c);
    FollowChanges(c);
    code = CodeFor(c, function);
  }
  if (code == nullptr) {
    Miss(c, "an instruction that cannot be translated; the rest ran uncounted", function);
    code = PointerTo<const std::uint8_t>(function);
  }
  c->stack = AddressOf(&code);
  TopdnnExactEnter(argument, code, &c->entry_rsp);
}

void Miss(Context* c, const char* what, std::uint64_t address) noexcept {
  if (c->incomplete != nullptr) return;
  c->incomplete = what;
  c->incomplete_address = address;
}

}  // namespace topdnn

#endif  // __x86_64__
