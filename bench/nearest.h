// The nearest of the names that would have been right, for a message about one that is not.

#ifndef TOPDNN_BENCH_NEAREST_H_
#define TOPDNN_BENCH_NEAREST_H_

#include <span>
#include <string>
#include <string_view>

namespace topdnn {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (the
// restricted edit distance of Damerau 1964).
int EditDistance(std::string_view a, std::string_view b);

// The name nearest to `given`, or an empty string when none is near enough (within a third of its
// length, two at least) to be what was meant.
std::string NearestName(std::string_view given, std::span<const std::string> names);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_NEAREST_H_
