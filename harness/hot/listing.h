// The instructions of a loop as text. Repeated forms are folded: "6 x vfmadd231ps zmm0, zmm1,
// zmm2".

#ifndef TOPDNN_HARNESS_HOT_LISTING_H_
#define TOPDNN_HARNESS_HOT_LISTING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/hot/core_model.h"

namespace topdnn {

// Lines with the offset from the loop's first instruction, at most `lines`; a line more says how
// many are left out. Marks: "spill" and "reload" of a vector on the stack, "crosses a line" for an
// instruction in two lines of code.
std::vector<std::string> ListingOf(const std::vector<PathInstruction>& path, std::size_t lines);

// The mark of an instruction in two lines of code.
inline constexpr std::string_view kCrossesLine = "crosses a line";

// The instruction in Intel's syntax. Addresses in it are relative to `origin`, so that they do not
// depend on where the code is loaded.
std::string TextOf(const Instruction& instruction, std::uint64_t origin);

// Whether the instruction stores a vector on the stack.
bool IsSpill(const Instruction& instruction);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_LISTING_H_
