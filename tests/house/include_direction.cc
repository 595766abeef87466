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

// The rooms of all floors, from top to bottom: a file includes its own room and those below it on
// its floor. "bench" means the files directly in bench/, "kernels/*" every folder of kernels/ that
// is not in the list.
const std::vector<std::string>& Rooms() {
  static const std::vector<std::string> rooms = [] {
    std::vector<std::string> names;
    for (const std::string& line : LinesOf(ReadSource("tests/house/rooms.txt").text)) {
      if (!line.empty() && line.front() != '#') names.push_back(line.substr(0, line.find(' ')));
    }
    return names;
  }();
  return rooms;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string FloorOf(const std::string& path) { return path.substr(0, path.find('/')); }

// The room of a file in Rooms(); their end if it is in none.
std::vector<std::string>::const_iterator RoomOf(const std::string& path) {
  const std::vector<std::string>& rooms = Rooms();
  const auto room = std::find(rooms.begin(), rooms.end(), FolderOf(path));
  return room != rooms.end() ? room : std::find(rooms.begin(), rooms.end(), FloorOf(path) + "/*");
}

// Why a file may not include another of the same floor; empty: it may.
std::string RoomBreach(const std::string& from, const std::string& to) {
  if (FloorOf(from) != FloorOf(to) || FloorOf(from) == "tests") return "";
  const auto room = RoomOf(from);
  const auto target = RoomOf(to);
  if (room == Rooms().end()) return "is in " + FolderOf(from) + "/, which is not a known room";
  if (target == Rooms().end()) return "includes " + to + ", which is not in a known room";
  if (target < room) return "includes " + to + ", which is in a room above " + *room + "/";
  return "";
}

bool IsAllowed(const std::string& floor, const std::string& target) {
  const std::vector<std::string>& allowed = Allowed().at(floor);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    return entry.back() == '/' ? target.starts_with(entry) : target == entry;
  });
}

using Graph = std::map<std::string, std::vector<std::string>>;

// Depth first: a file (or folder) that is already on the current path closes a circle.
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

void FindCircles(const Graph& graph, std::vector<std::string>& breaches) {
  std::map<std::string, bool> finished;
  std::vector<std::string> path;
  for (const auto& [file, targets] : graph) FindCircles(graph, file, finished, path, breaches);
}

// The two parts of the smallest common folder of two files that hold one of them each: a folder
// below it, or, for a file directly in it, the folder with a slash.
std::pair<std::string, std::string> PartsOf(const std::string& a, const std::string& b) {
  std::size_t common = 0;  // after the slash of the common folder
  for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) {
    if (a[i] == '/') common = i + 1;
  }
  const auto part = [common](const std::string& path) {
    const std::size_t slash = path.find('/', common);
    return path.substr(0, slash == std::string::npos ? common : slash);
  };
  return {part(a), part(b)};
}

constexpr int kMaxFolderSources = 30;  // of a folder

// Whether the file is directly on a floor that has rooms. Only the program's main() is.
bool IsLoose(const std::string& path) {
  const std::string floor = FolderOf(path);
  return path != "bench/main.cc" &&
         std::any_of(Rooms().begin(), Rooms().end(),
                     [&](const std::string& room) { return room.starts_with(floor + "/"); }) &&
         floor == FloorOf(path);
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
  FindCircles(graph, breaches);
  return breaches;
}

std::vector<std::string> FolderBreaches(const std::vector<SourceFile>& files) {
  std::vector<std::string> breaches;
  std::map<std::string, int> sources;
  Graph graph;  // of the folders of every level, each beside those of its own level
  for (const SourceFile& file : files) {
    if (FloorOf(file.path) == "tests") continue;
    ++sources[FolderOf(file.path)];
    if (IsLoose(file.path)) breaches.push_back(file.path + ": is in no room of its floor");
    for (const Include& include : IncludesOf(file.text)) {
      if (!include.quoted || include.target.find('/') == std::string::npos) continue;
      const auto [from, to] = PartsOf(file.path, include.target);
      if (from != to) graph[from].push_back(to);
    }
  }
  for (const auto& [folder, count] : sources) {
    if (count > kMaxFolderSources) {
      breaches.push_back(fmt::format("{}/ has {} sources: over {}, a folder is several rooms",
                                     folder, count, kMaxFolderSources));
    }
  }
  FindCircles(graph, breaches);
  return breaches;
}

}  // namespace topdnn
