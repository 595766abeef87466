#include "bench/live/steps.h"

#include <algorithm>
#include <unordered_map>

namespace topdnn {

namespace {

// A step may execute a primitive several times, so its length is the distance to one of the next
// occurrences. Lengths that occur seldom are not tried.
constexpr std::size_t kNextOccurrences = 8;
constexpr std::size_t kMostLengths = 64;
constexpr std::size_t kMostDistances = 100'000;  // for a sequence without order
// A shorter length is preferred if it covers this share of what the best one covers.
constexpr double kNearly = 0.9;

std::vector<std::size_t> LikelyLengths(std::span<const std::uint32_t> rows) {
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places[rows[i]].push_back(i);
  std::unordered_map<std::size_t, std::size_t> times;  // of each distance
  for (const auto& [row, at] : places) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t k = 1; k <= kNextOccurrences && i + k < at.size(); ++k) {
        const std::size_t distance = at[i + k] - at[i];
        if (times.size() < kMostDistances || times.contains(distance)) ++times[distance];
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> ordered;  // primitives that it may cover
  ordered.reserve(times.size());
  for (const auto& [length, count] : times) ordered.emplace_back(count, length);
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  ordered.resize(std::min(ordered.size(), kMostLengths));
  std::vector<std::size_t> lengths;
  lengths.reserve(ordered.size());
  for (const auto& [count, length] : ordered) lengths.push_back(length);
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

struct Repetition {
  std::size_t length = 0;
  std::size_t begin = 0;
  std::size_t covered = 0;  // primitives
};

// The longest part in which each primitive is the one `length` before it; at least two steps.
Repetition LongestRepetition(std::span<const std::uint32_t> rows, std::size_t length) {
  Repetition best{length, 0, 0};
  std::size_t run = 0;
  for (std::size_t i = length; i < rows.size(); ++i) {
    run = rows[i] == rows[i - length] ? run + 1 : 0;
    if (run >= length && run + length > best.covered) {
      best.covered = run + length;
      best.begin = i + 1 - best.covered;
    }
  }
  return best;
}

}  // namespace

FoundSteps FindSteps(std::span<const std::uint32_t> rows) {
  std::vector<Repetition> repetitions;
  std::size_t most = 0;
  for (const std::size_t length : LikelyLengths(rows)) {
    repetitions.push_back(LongestRepetition(rows, length));
    most = std::max(most, repetitions.back().covered);
  }
  if (most == 0) return {};
  const auto found = std::find_if(repetitions.begin(), repetitions.end(), [&](const auto& one) {
    return static_cast<double>(one.covered) >= kNearly * static_cast<double>(most);
  });
  FoundSteps steps{found->length, {}};
  const std::span<const std::uint32_t> step = rows.subspan(found->begin, found->length);
  // Occurrences before the repetition end where it begins; those in it and after it follow.
  std::vector<std::size_t> before;
  for (std::size_t end = found->begin; end >= step.size();) {
    if (std::equal(step.begin(), step.end(), rows.begin() + (end - step.size()))) {
      end -= step.size();
      before.push_back(end);
    } else {
      --end;
    }
  }
  steps.begins.assign(before.rbegin(), before.rend());
  for (std::size_t i = found->begin; i + step.size() <= rows.size();) {
    if (std::equal(step.begin(), step.end(), rows.begin() + i)) {
      steps.begins.push_back(i);
      i += step.size();
    } else {
      ++i;
    }
  }
  return steps;
}

}  // namespace topdnn
