#include "tests/house/include_direction.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

namespace topdnn {

namespace {

// The includes that each floor may have: folders (with a slash) and single files.
const std::map<std::string, std::vector<std::string>>& Allowed() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"kernels", {"kernels/"}},
      {"harness", {"harness/"}},
      {"networks", {"kernels/", "networks/"}},
      {"datasets", {"kernels/tensor/tensor.h", "datasets/"}},
      {"bench", {"bench/", "datasets/", "harness/", "kernels/", "networks/"}},
      {"tests", {"bench/", "datasets/", "harness/", "kernels/", "networks/", "tests/"}},
  };
  return table;
}

// The rooms of a floor, from top to bottom: a folder includes its own files and the rooms below.
// "bench" means the files directly in bench/.
const std::vector<std::vector<std::string>>& Rooms() {
  static const std::vector<std::vector<std::string>> floors = {
      {"bench", "bench/commands", "bench/studies", "bench/traces", "bench/speed", "bench/choice",
       "bench/cases", "bench/profile", "bench/validation", "bench/workload", "bench/ranks",
       "bench/formats", "bench/command_line"},
      {"harness/report/html", "harness/report", "harness/experiments", "harness/scheduling",
       "harness/sharing", "harness/resctrl", "harness", "harness/bounds", "harness/user_cache",
       "harness/probes", "harness/exact", "harness/topdown", "harness/counters", "harness/machine",
       "harness/ground", "harness/statistics"}};
  return floors;
}

// The files directly in harness/ that its rooms use.
bool IsGround(const std::string& path) {
  static const std::vector<std::string> ground = {"harness/counting",   "harness/input_file",
                                                  "harness/one_line",   "harness/registered_list",
                                                  "harness/split_text", "harness/status"};
  return std::any_of(ground.begin(), ground.end(), [&](const std::string& name) {
    return path == name + ".h" || path == name + ".cc";
  });
}

std::string RoomOf(const std::string& path) {
  return IsGround(path) ? "harness/ground" : path.substr(0, path.rfind('/'));
}

std::string FloorOf(const std::string& path) { return path.substr(0, path.find('/')); }

// Why a file may not include another of the same floor; empty: it may.
std::string RoomBreach(const std::string& from, const std::string& to) {
  const std::string floor = FloorOf(from);
  for (const std::vector<std::string>& rooms : Rooms()) {
    if (FloorOf(rooms.front() + "/") != floor || FloorOf(to) != floor) continue;
    const auto room = std::find(rooms.begin(), rooms.end(), RoomOf(from));
    const auto target = std::find(rooms.begin(), rooms.end(), RoomOf(to));
    if (room == rooms.end()) return "is in " + RoomOf(from) + "/, which is not a known room";
    if (target == rooms.end()) return "includes " + to + ", which is not in a known room";
    if (target < room) return "includes " + to + ", which is in a room above " + *room + "/";
  }
  return "";
}

bool IsAllowed(const std::string& floor, const std::string& target) {
  const std::vector<std::string>& allowed = Allowed().at(floor);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    return entry.back() == '/' ? target.starts_with(entry) : target == entry;
  });
}

using Graph = std::map<std::string, std::vector<std::string>>;

// Depth first: a file that is already on the current path closes a circle.
void FindCircles(const Graph& graph, const std::string& file, std::map<std::string, bool>& finished,
                 std::vector<std::string>& path, std::vector<std::string>& breaches) {
  const auto seen = finished.find(file);
  if (seen != finished.end() && seen->second) return;
  if (seen != finished.end()) {
    std::string circle;
    for (auto at = std::find(path.begin(), path.end(), file); at != path.end(); ++at) {
      circle += *at + " -> ";
    }
    breaches.push_back("a circle of includes: " + circle + file);
    return;
  }
  finished[file] = false;
  path.push_back(file);
  const auto targets = graph.find(file);
  if (targets != graph.end()) {
    for (const std::string& target : targets->second) {
      FindCircles(graph, target, finished, path, breaches);
    }
  }
  path.pop_back();
  finished[file] = true;
}

}  // namespace

std::vector<Include> IncludesOf(std::string_view text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  std::vector<Include> includes;
  int number = 0;
  for (const std::string& line : LinesOf(text)) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, pattern)) {
      includes.push_back({match[2], number, match[1] == "\""});
    }
  }
  return includes;
}

std::vector<std::string> IncludeBreaches(const std::vector<SourceFile>& files) {
  std::vector<std::string> breaches;
  Graph graph;
  for (const SourceFile& file : files) graph[file.path];
  for (const SourceFile& file : files) {
    const std::string floor = FloorOf(file.path);
    if (!Allowed().contains(floor)) {
      breaches.push_back(file.path + ": is on no known floor");
      continue;
    }
    for (const Include& include : IncludesOf(file.text)) {
      const std::string target_floor = FloorOf(include.target);
      const bool ours =
          include.target.find('/') != std::string::npos && Allowed().contains(target_floor);
      const std::string where = fmt::format("{}:{}: ", file.path, include.line);
      if (!include.quoted) {
        if (ours) {
          breaches.push_back(where + "write \"" + include.target + "\", not angle brackets");
        }
      } else if (!ours) {
        breaches.push_back(where + "includes " + include.target +
                           ", which is on no known floor; paths start at the repository root");
      } else if (!IsAllowed(floor, include.target)) {
        breaches.push_back(where + "includes " + include.target + ", which " + floor +
                           "/ must not include");
      } else if (const std::string breach = RoomBreach(file.path, include.target);
                 !breach.empty()) {
        breaches.push_back(where + breach);
      } else if (!graph.contains(include.target)) {
        breaches.push_back(where + "includes " + include.target + ", which does not exist");
      } else {
        graph[file.path].push_back(include.target);
      }
    }
  }
  std::map<std::string, bool> finished;
  std::vector<std::string> path;
  for (const auto& [file, targets] : graph) FindCircles(graph, file, finished, path, breaches);
  return breaches;
}

}  // namespace topdnn
