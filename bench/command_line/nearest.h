// Finds the valid name nearest to an unknown one, for error messages.

#ifndef TOPDNN_BENCH_COMMAND_LINE_NEAREST_H_
#define TOPDNN_BENCH_COMMAND_LINE_NEAREST_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (the
// restricted edit distance of Damerau 1964).
int EditDistance(std::string_view a, std::string_view b);

// The name nearest to `given`; empty if all are farther than the larger of two edits and a third of
// the length of `given`.
std::string NearestName(std::string_view given, std::span<const std::string> names);

// Throws UsageError unless `given` is one of the names of that kind ("backend"); suggests the
// nearest.
void CheckName(std::string_view kind, const std::string& given,
               const std::vector<std::string>& names);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_NEAREST_H_
