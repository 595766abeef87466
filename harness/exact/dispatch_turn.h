// Keeps threads from translating while another one takes back what they have remembered.

#ifndef TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_
#define TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

// While it lives, its thread may change its own context, and no other thread may.
class DispatchTurn {
 public:
  explicit DispatchTurn(Context* context) noexcept;
  ~DispatchTurn();
  DispatchTurn(const DispatchTurn&) = delete;
  DispatchTurn& operator=(const DispatchTurn&) = delete;

 private:
  Context* c_;
};

void RegisterContext(Context* context) noexcept;  // once; contexts are kept

// Code of [low, high) changes. Makes the indirect branches of all other threads ask their
// dispatchers before they go there again. In the turn of `by`, or null: by a
// thread that is not translated.
void ForgetTargets(Context* by, std::uint64_t low, std::uint64_t high) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_DISPATCH_TURN_H_
