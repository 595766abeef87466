#include "tests/house/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace topdnn {

namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

// Folders with generated files.
bool IsGenerated(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name == ".git" || name == "build" || name == ".cache" || name == "__pycache__";
}

template <typename Wanted>
std::vector<SourceFile> Collect(const Wanted& wanted) {
  const fs::path root = TOPDNN_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && IsGenerated(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      const fs::path path = entry->path().lexically_relative(root);
      if (wanted(path)) files.push_back({path.generic_string(), Read(entry->path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

bool IsCpp(const fs::path& path) {
  const std::string floor = path.begin()->string();
  const bool ours = floor == "kernels" || floor == "networks" || floor == "harness" ||
                    floor == "datasets" || floor == "bench" || floor == "tests";
  return ours && (path.extension() == ".h" || path.extension() == ".cc");
}

}  // namespace

std::vector<SourceFile> CppFiles() { return Collect(IsCpp); }

std::vector<SourceFile> AllFiles() {
  return Collect([](const fs::path& path) {
    static const std::vector<std::string> kExtensions = {".h",  ".cc",    ".cmake", ".txt", ".md",
                                                         ".py", ".json",  ".sh",    ".yml", "",
                                                         ".in", ".jsonc", ".html",  ".js",  ".css"};
    const std::string extension = path.extension().string();
    return path.filename() != "LICENSE" && path.filename() != ".git" &&
           std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
  });
}

SourceFile ReadSource(std::string_view path) {
  return {std::string(path), Read(fs::path(TOPDNN_SOURCE_DIR) / path)};
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace topdnn
