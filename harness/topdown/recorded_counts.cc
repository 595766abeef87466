#include "harness/topdown/recorded_counts.h"

#include <set>

namespace topdnn {

std::vector<std::string> RecordedCounts::Groups() const {
  std::vector<std::string> groups;
  std::set<std::string> seen;
  for (const CountOrigin& origin : origins) {
    if (origin.group && seen.insert(*origin.group).second) groups.push_back(*origin.group);
  }
  return groups;
}

std::vector<std::string> RecordedCounts::Intervals() const {
  std::vector<std::string> intervals;
  std::set<std::string> seen;
  for (const CountOrigin& origin : origins) {
    if (!origin.interval.empty() && seen.insert(origin.interval).second) {
      intervals.push_back(origin.interval);
    }
  }
  return intervals;
}

std::map<std::string, std::vector<RecordedCount>> RecordedCounts::CountsByInterval() const {
  std::map<std::string, std::vector<RecordedCount>> by_interval;
  for (const RecordedCount& count : counts) {
    by_interval[origins[count.origin].interval].push_back(count);
  }
  return by_interval;
}

void CountCollector::Add(const CountOrigin& origin, std::string_view spelling,
                         RecordedCount count) {
  auto place = events_.find(spelling);
  if (place == events_.end()) {
    place = events_.emplace(spelling, recorded_.events.size()).first;
    recorded_.events.push_back({ParseEventName(spelling), std::string(spelling)});
  }
  count.event = place->second;
  count.origin = OriginIndex(origin);
  recorded_.counts.push_back(count);
}

void CountCollector::AddMetric(const CountOrigin& origin, std::string_view name, double value) {
  recorded_.metrics.push_back({OriginIndex(origin), std::string(name), value});
}

std::size_t CountCollector::OriginIndex(const CountOrigin& origin) {
  const auto [place, fresh] = origins_.emplace(origin, recorded_.origins.size());
  if (fresh) recorded_.origins.push_back(origin);
  return place->second;
}

}  // namespace topdnn
