#include "bench/command_line/plugin_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/environment.h"
#include "kernels/kernel/registry.h"
#include "kernels/plugin/plugins.h"

namespace topdnn {

namespace {

constexpr std::string_view kOption = "--plugin";
constexpr const char* kPaths = "TOPDNN_PLUGINS";                   // separated by colons
constexpr const char* kSecondsVariable = "TOPDNN_PLUGIN_SECONDS";  // limit of a call in the check
constexpr double kDefaultSeconds = 10;

// The plug-ins in the environment, for example of the process that started this one.
std::vector<std::string> InheritedPlugins() {
  std::vector<std::string> paths;
  const char* const given = std::getenv(kPaths);
  std::string_view rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    if (!path.empty()) paths.emplace_back(path);
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
  }
  return paths;
}

}  // namespace

void AddPluginOption(CommandParser& parser) {
  // (the values are read by LoadPluginsOf)
  static std::vector<std::string> ignored;
  parser.AddRepeated("--plugin FILE", ignored,
                     "use the kernels of this library, as another backend (docs/plugins.md); may "
                     "be repeated");
}

std::vector<std::string> PluginsIn(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == kOption && i + 1 < words.size()) paths.push_back(words[++i]);
    const std::string joined = fmt::format("{}=", kOption);
    if (words[i].starts_with(joined)) paths.push_back(words[i].substr(joined.size()));
  }
  return paths;
}

void LoadPluginsOf(const std::vector<std::string>& words) {
  std::vector<std::string> paths = InheritedPlugins();
  for (std::string& path : PluginsIn(words)) paths.push_back(std::move(path));
  for (std::string& path : paths) {
    if (path.empty()) continue;  // LoadPlugins refuses it
    std::error_code error;
    // (without a slash, dlopen would search the folders of the system)
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    if (error) {
      throw UsageError(
          fmt::format("--plugin {}: the current folder cannot be found ({}): change to one that "
                      "exists, or give the whole path",
                      path, error.message()));
    }
    path = whole.lexically_normal();
    if (path.find(':') != std::string::npos) {
      throw UsageError(fmt::format(
          "--plugin {}: a path with ':' cannot be passed to the programs that topdnn starts; move "
          "the file to another folder",
          path));
    }
  }
  if (paths.empty()) return;
  LoadPlugins(paths, SecondsInEnvironment(kSecondsVariable, kDefaultSeconds));
  setenv(kPaths, fmt::format("{}", fmt::join(paths, ":")).c_str(), 1);
}

std::vector<std::string> WithJoinedValues(std::vector<std::string> words) {
  const std::vector<std::string> backends = Backends();
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    const std::string& next = words[i + 1];
    const bool backend = words[i] == "--fallback" &&
                         std::find(backends.begin(), backends.end(), next) != backends.end();
    const bool number = words[i] == "--hot" && !next.empty() &&
                        next.find_first_not_of("0123456789") == std::string::npos;
    if (!backend && !number) continue;
    words[i] += "=" + next;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

}  // namespace topdnn
