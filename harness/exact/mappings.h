// The process's executable memory: which code can be translated once, and which may change without
// a system call of the region.

#ifndef TOPDNN_HARNESS_EXACT_MAPPINGS_H_
#define TOPDNN_HARNESS_EXACT_MAPPINGS_H_

#include <cstdint>

#include "harness/exact/context.h"

namespace topdnn {

enum class CodeKind {
  kNative,      // not executable, or not readable: it runs natively
  kFixed,       // it changes by a system call on its mapping, or by a store to its guarded page
  kChangeable,  // a store, another mapping or the kernel may change it: its blocks check themselves
};

// Private code that is writable, as just-in-time compilers leave it, is fixed too while its pages
// are guarded: they are made read-only, and a store to one opens it. From then on it is changeable.

// Opens the guarded page of `address`; false: it is none.
bool OpenGuard(std::uint64_t address) noexcept;
// Whether a page is guarded within a page's length of one of `n` addresses; null: anywhere.
bool GuardsAt(const std::uint64_t* addresses, int n) noexcept;
void OpenGuards() noexcept;    // all: the kernel is about to write, nobody knows where
void ForgetGuards() noexcept;  // the same at a region's end, and opened pages may be guarded anew

// The kind of the code at `address`; `*end` is where its mapping ends.
CodeKind KindOfCode(std::uint64_t address, std::uint64_t* end) noexcept;

// Notes that the mappings of [low, high) changed: threads follow it when they next dispatch.
void NoteMappingChange(std::uint64_t low, std::uint64_t high) noexcept;

// The program is about to map or protect [low, high) itself: pages there are guarded no more.
void ForgetPages(std::uint64_t low, std::uint64_t high) noexcept;

// Forgets what `context` translated if another thread has changed its code since it last looked.
void FollowChanges(Context* context) noexcept;

// Whether [low, high) holds code that `context` translated.
bool HoldsTranslatedCode(const Context* context, std::uint64_t low, std::uint64_t high) noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_MAPPINGS_H_
