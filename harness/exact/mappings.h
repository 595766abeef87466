// The process's executable memory: which code stays as it is, and which may change without a system
// call of the region.

#ifndef TOPDNN_HARNESS_EXACT_MAPPINGS_H_
#define TOPDNN_HARNESS_EXACT_MAPPINGS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

enum class CodeKind {
  kNative,      // not executable or not readable: it runs natively
  kFixed,       // changes only by a system call on its mapping or a store to a guarded page
  kChangeable,  // a store, another mapping or the kernel may change it: blocks check their code
};

// Private writable code, as just-in-time compilers create it, is fixed while its pages are guarded.
// A guarded page is read-only; a store opens it, and from then on its code is changeable.

// Opens the guarded page that holds `address`; false: no such page.
bool OpenGuard(std::uint64_t address) noexcept;
// Whether a guarded page lies within one page's length of any of `n` addresses. Null: whether any
// page is guarded.
bool GuardsAt(const std::uint64_t* addresses, int n) noexcept;
void OpenGuards() noexcept;    // opens all pages before the kernel writes to an unknown address
void ForgetGuards() noexcept;  // opens all at a region's end; they may be guarded again

// The kind of the code at `address`. `*end`: the address up to which all code is of this kind.
CodeKind KindOfCode(std::uint64_t address, std::uint64_t* end) noexcept;

// Records that the mappings of [low, high) changed. Threads check for changes when they next
// dispatch.
void NoteMappingChange(std::uint64_t low, std::uint64_t high) noexcept;

// The program itself is about to map or protect [low, high): no page there stays guarded.
void ForgetPages(std::uint64_t low, std::uint64_t high) noexcept;

// Discards the translations of `context` if another thread changed their code since the last call.
void FollowChanges(Context* context) noexcept;

// Whether [low, high) holds code that `context` translated.
bool HoldsTranslatedCode(const Context* context, std::uint64_t low, std::uint64_t high) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_MAPPINGS_H_
