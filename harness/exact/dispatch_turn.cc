#if defined(__x86_64__)

#include "harness/exact/dispatch_turn.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "harness/exact/emitter.h"
#include "harness/exact/mappings.h"

namespace topdnn {

namespace {

std::atomic<Context*> contexts[kMaxContexts];
std::atomic<std::uint32_t> context_count{0};
std::atomic<Context*> stopper{nullptr};  // while set, no other thread may dispatch
Context outsider;                        // represents a thread that is not translated

std::atomic_ref<std::uint32_t> Dispatching(Context* c) { return std::atomic_ref(c->dispatching); }

// Another processor may run this code and see a mix of old and new bytes. No code address matches
// such a mix.
void Overwrite(std::uint64_t* place) { *static_cast<volatile std::uint64_t*>(place) = 0; }

void Forget(const Context* c, std::uint64_t low, std::uint64_t high) {
  // Code that begins before the change may reach into it.
  low -= std::min<std::uint64_t>(low, kMaxLine * kMaxBlockBytes);
  const Emitter e(const_cast<Context*>(c));
  for (const Exit& exit : c->exits) {
    if (exit.kind != Exit::kIndirect || exit.field == nullptr) continue;
    std::uint64_t minus = 0;
    std::memcpy(&minus, exit.field, sizeof minus);
    if (-minus >= low && -minus < high) {
      Overwrite(reinterpret_cast<std::uint64_t*>(e.Writable(exit.field)));
    }
  }
  for (const Block& block : c->blocks) {
    if (block.start < low || block.start >= high) continue;
    for (auto& way : c->lookup[block.start & (kLookupSets - 1)].ways) {
      Overwrite(&way.minus_address);
    }
  }
}

}  // namespace

DispatchTurn::DispatchTurn(Context* context) noexcept : c_(context) {
  while (true) {
    Dispatching(c_) = 1;
    if (stopper == nullptr) return;
    Dispatching(c_) = 0;
    while (stopper != nullptr) sched_yield();
  }
}

DispatchTurn::~DispatchTurn() { Dispatching(c_) = 0; }

bool RegisterContext(Context* c) noexcept {
  const std::uint32_t place = context_count.fetch_add(1);
  if (place >= kMaxContexts) return false;
  contexts[place] = c;
  return true;
}

void ForgetContexts() noexcept {
  for (auto& context : contexts) context = nullptr;
  context_count = 0;
  stopper = nullptr;
}

void ForgetTargets(Context* by, std::uint64_t low, std::uint64_t high) noexcept {
  if (context_count == 1 && by != nullptr) return;
  if (by != nullptr) Dispatching(by) = 0;  // two threads that stop each other must not deadlock
  Context* none = nullptr;
  Context* const mark = by != nullptr ? by : &outsider;
  while (!stopper.compare_exchange_weak(none, mark)) {
    none = nullptr;
    sched_yield();
  }
  if (by != nullptr) Dispatching(by) = 1;
  for (std::uint32_t k = 0; k < std::min(context_count.load(), kMaxContexts); ++k) {
    Context* other = contexts[k];
    if (other == nullptr || other == by) continue;
    while (Dispatching(other) != 0) sched_yield();
    if (HoldsTranslatedCode(other, low, high)) Forget(other, low, high);
  }
  stopper = nullptr;
}

}  // namespace topdnn

#endif  // __x86_64__
