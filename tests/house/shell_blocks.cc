#include "tests/house/shell_blocks.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/house/source_tree.h"

namespace topdnn {

std::vector<std::string> DocumentPaths() {
  std::vector<std::string> pages;
  for (const auto& file : std::filesystem::directory_iterator(TOPDNN_SOURCE_DIR "/docs")) {
    pages.push_back("docs/" + file.path().filename().string());
  }
  std::sort(pages.begin(), pages.end());
  pages.insert(pages.begin(), {"README.md", "CONTRIBUTING.md"});
  return pages;
}

std::string TestNameOf(const std::string& document) {
  std::string name = document.substr(0, document.find('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
}

std::vector<std::string> ShellCommands(std::string_view markdown) {
  static const std::regex comment(R"((^|\s)#.*$)");
  static const std::regex ends(R"(^\s+|\s+$)");
  std::vector<std::string> commands;
  bool inside = false;
  std::string begun;
  for (const std::string& line : LinesOf(markdown)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```sh";
      begun.clear();
      continue;
    }
    if (!inside) continue;
    begun += std::regex_replace(line, comment, "");
    if (begun.ends_with('\\')) {
      begun.back() = ' ';
      continue;
    }
    const std::string command = std::regex_replace(begun, ends, "");
    if (!command.empty()) commands.push_back(command);
    begun.clear();
  }
  return commands;
}

std::string ProgramOf(std::string_view command) {
  static const std::regex assignment(R"(\w+=\S*)");
  std::istringstream words{std::string(command)};
  for (std::string word; words >> word;) {
    if (!std::regex_match(word, assignment)) return word;
  }
  return {};
}

}  // namespace topdnn
