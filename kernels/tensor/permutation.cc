#include "kernels/tensor/permutation.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace topdnn {

namespace {

// Adjacent dimensions of the source that are also adjacent in the result.
struct Run {
  int first, last;
  std::int64_t extent;
};

}  // namespace

Permutation Simplified(std::span<const std::int64_t> extents, std::span<const int> order) {
  const auto extent_of = [&](int d) { return extents[static_cast<std::size_t>(d)]; };
  // The next dimension after d with more than one element.
  const auto next_of = [&](int d) {
    do ++d;
    while (d < static_cast<int>(extents.size()) && extent_of(d) == 1);
    return d;
  };
  std::vector<Run> runs;  // in the order of the result
  for (const int d : order) {
    if (extent_of(d) == 1) continue;
    if (!runs.empty() && next_of(runs.back().last) == d) {
      runs.back().last = d;
      runs.back().extent *= extent_of(d);
    } else {
      runs.push_back({d, d, extent_of(d)});
    }
  }
  std::vector<Run> sources = runs;
  const auto earlier = [](const Run& a, const Run& b) { return a.first < b.first; };
  std::sort(sources.begin(), sources.end(), earlier);
  Permutation simplified;
  for (const Run& run : sources) simplified.extents.push_back(run.extent);
  for (const Run& run : runs) {
    const auto at = std::lower_bound(sources.begin(), sources.end(), run, earlier);
    simplified.order.push_back(static_cast<int>(at - sources.begin()));
  }
  return simplified;
}

Permutation PermutationBetween(const Shape& shape, const Layout& from, const Layout& to) {
  std::vector<std::int64_t> extents;
  std::vector<int> order;
  for (const char letter : from.tag()) extents.push_back(shape[letter - 'a']);
  for (const char letter : to.tag()) order.push_back(static_cast<int>(from.tag().find(letter)));
  return Simplified(extents, order);
}

bool IsUnblocked(const Layout& layout) {
  const std::string& tag = layout.tag();
  return !layout.is_opaque() &&
         std::all_of(tag.begin(), tag.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

}  // namespace topdnn
