// Instruction forms: instructions with the same mnemonic and the same kinds and widths of operands,
// which cost the same. Uops.info and llvm-mca distinguish them in the same way.

#ifndef TOPDNN_HARNESS_HOT_INSTRUCTION_FORM_H_
#define TOPDNN_HARNESS_HOT_INSTRUCTION_FORM_H_

#include <string>
#include <vector>

#include "harness/exact/instructions/decode.h"

namespace topdnn {

// "vfmadd231ps z z m32b": a multiply-add of 512 bits with a broadcast operand. Letters: x, y, z
// vectors, g general registers with their bits, k masks, m memory, v gathered memory, a addresses
// only computed, i constants.
std::string FormOf(const Instruction& instruction);

// The explicit operands without the mask.
std::vector<const ZydisDecodedOperand*> OperandsOf(const Instruction& instruction);

// Clears a register whatever it held, as `xor eax, eax`: renaming alone executes it.
bool IsZeroIdiom(const Instruction& instruction);
// A copy of a whole register, which renaming can execute.
bool IsPlainMove(const Instruction& instruction);
// Whether the form can be executed with other registers and addresses without harm.
bool CanRunAlone(const Instruction& instruction);
// Whether a result of the form can be an operand of its next execution.
bool CanChain(const Instruction& instruction);

// The number of a register among all that the core model follows, whatever its width: 0 to 15 are
// general, 16 to 47 vectors, 48 to 55 masks; kNothing: not followed.
int FollowedRegister(ZydisRegister name);
inline constexpr int kFollowedFlags = 56;
inline constexpr int kFollowed = 57;
inline bool IsFollowedVector(int number) { return number >= 16 && number < 48; }

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_INSTRUCTION_FORM_H_
