// A member of a group that occupies a known part of the last cache. The time of its own accesses
// shows whether the part really stays in the cache.

#ifndef TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_
#define TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "harness/sharing/member.h"

namespace topdnn {

// A part is a number of eighths of the cache.
inline constexpr std::size_t kCacheParts = 8;

// The bytes that it occupies in a window: `setting` (0 to 7) eighths of the cache.
std::size_t OccupiedBytes(std::size_t cache_bytes, std::size_t setting);
// In this setting it flushes an eighth before it reads it, so every access misses: this measures
// the time of an access to memory. No iterations if the architecture cannot flush in user mode.
inline constexpr std::size_t kMissSetting = kCacheParts;

// The share of the part that is in the cache, if the time of an access is a mix of those of a hit
// and a miss: an estimate. Absent if these two do not differ clearly, or an argument is absent.
// Pure.
std::optional<double> HeldShare(std::optional<double> access, std::optional<double> hit,
                                std::optional<double> miss);

// Seconds from the wake-up to the start of the window: enough time to touch all of its part.
double OccupantLead(std::size_t occupied_bytes);

// Reads the lines of its part in a random order, over and over. In setting 0, it reads a few lines
// that stay in its L1. Its only stage is the time of one access; four accesses are under way at
// once. Throws InputError if there is too little memory.
std::unique_ptr<Member> MakeOccupantMember(std::size_t cache_bytes);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_
