#include "bench/command_line/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/command_line/command.h"

namespace topdnn {

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      int& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                       distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string NearestName(std::string_view given, std::span<const std::string> names) {
  std::string nearest;
  // At least one letter is the same.
  const int length = static_cast<int>(given.size());
  int least = std::min(std::max(2, length / 3), length - 1) + 1;
  for (const std::string& name : names) {
    const int distance = EditDistance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

void CheckName(std::string_view kind, const std::string& given,
               const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), given) != names.end()) return;
  const std::string nearest = NearestName(given, names);
  throw UsageError(fmt::format("no {} '{}'{}; there are: {}", kind, given,
                               nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest),
                               fmt::join(names, " ")));
}

}  // namespace topdnn
