// Stops other threads from translating while one thread removes code addresses that they saved.

#ifndef TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_
#define TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

// While an object exists, its thread may change its own context, and no other thread may change it.
class DispatchTurn {
 public:
  explicit DispatchTurn(Context* context) noexcept;
  ~DispatchTurn();
  DispatchTurn(const DispatchTurn&) = delete;
  DispatchTurn& operator=(const DispatchTurn&) = delete;

 private:
  Context* c_;
};

// The most contexts of a process. They are never freed, so this many threads can be translated.
inline constexpr std::uint32_t kMaxContexts = 1024;

// Once per context. False: there are kMaxContexts already. ForgetTargets would not know this one,
// so no thread may run translated code with it.
[[nodiscard]] bool RegisterContext(Context* context) noexcept;

// In a forked child: the contexts are those of the parent's threads.
void ForgetContexts() noexcept;

// The code in [low, high) changes: the indirect branches of all other threads must ask their
// dispatchers before they jump there again. `by`: the calling thread's context, which holds the
// turn, or null for a thread that is not translated.
void ForgetTargets(Context* by, std::uint64_t low, std::uint64_t high) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_
