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
    if (file.path().extension() != ".md") continue;  // the picture of a page
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

namespace {

std::set<std::string> FilesIn(const std::string& command) {
  static const std::regex file(R"([\w-]+\.[a-z]\w*)");
  return {std::sregex_token_iterator(command.begin(), command.end(), file), {}};
}

bool ShareAFile(const std::string& a, const std::string& b) {
  const auto files = FilesIn(b);
  return std::ranges::any_of(FilesIn(a),
                             [&](const std::string& file) { return files.contains(file); });
}

}  // namespace

std::vector<std::string> CommandsToTry(const std::vector<std::string>& page,
                                       const std::set<std::string>& tried) {
  std::vector<std::string> commands;
  for (const std::string& command : page) {
    const bool needed = std::ranges::any_of(page, [&](const std::string& other) {
      return other != command && ShareAFile(command, other);
    });
    if (needed || !tried.contains(command)) commands.push_back(command);
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
