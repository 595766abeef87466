// Philox4x32-10, a counter-based random generator: Salmon, Moraes, Dror and Shaw 2011, "Parallel
// Random Numbers: As Easy as 1, 2, 3" (SC'11), section 3.3. A number depends only on its counter
// and the key. So threads can draw in parallel without shared state, and the numbers do not depend
// on how many threads there are.

#ifndef TOPDNN_KERNELS_DROPOUT_PHILOX_H_
#define TOPDNN_KERNELS_DROPOUT_PHILOX_H_

#include <array>
#include <cstdint>

namespace topdnn {

// Returns four independent numbers, uniform over 32 bits.
constexpr std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  // The paper's multipliers, and the Weyl sequences' increments (golden ratio, sqrt(3) - 1).
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_DROPOUT_PHILOX_H_
