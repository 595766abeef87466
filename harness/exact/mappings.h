// The process's executable memory: which code can be translated once, and which may change without
// a system call of the region.

#ifndef TOPDNN_HARNESS_EXACT_MAPPINGS_H_
#define TOPDNN_HARNESS_EXACT_MAPPINGS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

enum class CodeKind {
  kNative,      // not executable, or not readable: it runs natively
  kFixed,       // it changes by a system call on its mapping alone
  kChangeable,  // a store, another mapping or the kernel may change it: its blocks check themselves
};

// The kind of the code at `address`; `*end` is where its mapping ends.
CodeKind KindOfCode(std::uint64_t address, std::uint64_t* end) noexcept;

// Notes that the mappings of [low, high) changed: threads follow it when they next dispatch.
void NoteMappingChange(std::uint64_t low, std::uint64_t high) noexcept;

// Forgets what `context` translated if another thread has changed its code since it last looked.
void FollowChanges(Context* context) noexcept;

// Whether [low, high) holds code that `context` translated.
bool HoldsTranslatedCode(const Context* context, std::uint64_t low, std::uint64_t high) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_MAPPINGS_H_
