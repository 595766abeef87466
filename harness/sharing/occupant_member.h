// A member of a group that keeps a known part of the last cache occupied, and measures by the time
// of its own accesses whether it really holds it.

#ifndef TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_
#define TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "harness/sharing/member.h"

namespace topdnn {

// The parts are multiples of this share of the cache.
inline constexpr std::size_t kCacheParts = 8;

// The bytes that it occupies in a window of this setting (0 to 7): so many eighths of the cache.
std::size_t OccupiedBytes(std::size_t cache_bytes, std::size_t setting);
// The setting in which it flushes a part before it reads it, so that every access misses: the time
// of an access to memory. Without iterations if the architecture cannot flush in user mode.
inline constexpr std::size_t kMissSetting = kCacheParts;

// The share of the part that is in the cache, if the time of an access is a mix of those of a hit
// and a miss: an estimate. Absent if these two do not differ clearly, or one of them is absent.
// Pure.
std::optional<double> HeldShare(std::optional<double> access, std::optional<double> hit,
                                std::optional<double> miss);

// From the wake-up to the begin of the window: it has touched all of its part before.
double OccupantLead(std::size_t occupied_bytes);

// Reads the lines of its part in a random order, over and over; in setting 0 a few lines that stay
// in its L1. Its only stage is the time of one access, of which four are under way at once. Throws
// MemberRefusal if there is too little memory.
std::unique_ptr<Member> MakeOccupantMember(std::size_t cache_bytes);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_OCCUPANT_MEMBER_H_
