#include "kernels/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/op/request_error.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxName = 32;

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw RequestError(fmt::format("--plugin {}: {}", path, why));
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

void CheckTable(const std::string& path, const topdnn_plugin_table* table) {
  if (table == nullptr) Refuse(path, "its function topdnn_plugin returns no table");
  if (table->abi != TOPDNN_PLUGIN_ABI) {
    Refuse(path, fmt::format("is built for version {} of the plug-in interface, and this topdnn "
                             "has version {}: build it with the topdnn/plugin.h of this topdnn",
                             table->abi, TOPDNN_PLUGIN_ABI));
  }
  if (table->size < sizeof(topdnn_plugin_table)) {
    Refuse(path, fmt::format("its table has {} bytes instead of {}: set its member `size` to "
                             "sizeof(topdnn_plugin_table)",
                             table->size, sizeof(topdnn_plugin_table)));
  }
  if (!IsName(TextOf(table->name))) {
    Refuse(path, fmt::format("'{}' is no name for a backend: take up to {} lower-case letters, "
                             "digits, dashes and underscores",
                             TextOf(table->name).substr(0, kMaxName), kMaxName));
  }
  if (table->operations == nullptr || table->operations[0] == nullptr) {
    Refuse(path, "its table lists no operations");
  }
  if (table->create == nullptr || table->prepare == nullptr || table->run == nullptr ||
      table->destroy == nullptr) {
    Refuse(path, "its table lacks one of create, prepare, run and destroy");
  }
}

}  // namespace

std::string TextOf(const char* text) {
  constexpr std::size_t kMost = 500;
  if (text == nullptr) return "";
  std::string plain(text, strnlen(text, kMost));
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return plain;
}

PluginLibrary OpenPlugin(const std::string& path) {
  // RTLD_NOW: a missing symbol is an error here, not in a measured region.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::string why = TextOf(dlerror());
    if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
    Refuse(path, fmt::format("cannot be loaded: {}", why));
  }
  using Function = const topdnn_plugin_table* (*)();
  const auto function = reinterpret_cast<Function>(dlsym(library, "topdnn_plugin"));
  if (function == nullptr) {
    Refuse(path, "exports no function topdnn_plugin: it is no plug-in of topdnn (docs/plugins.md)");
  }
  const topdnn_plugin_table* const table = function();
  CheckTable(path, table);
  PluginLibrary plugin{path, table, table->name, TextOf(table->version), {}};
  for (const char* const* operation = table->operations; *operation != nullptr; ++operation) {
    plugin.operations.push_back(TextOf(*operation));
  }
  return plugin;
}

}  // namespace topdnn
