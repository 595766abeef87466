// A plug-in: a shared library with the interface of topdnn/plugin.h.

#ifndef TOPDNN_KERNELS_PLUGIN_LIBRARY_H_
#define TOPDNN_KERNELS_PLUGIN_LIBRARY_H_

#include <string>
#include <vector>

#include "kernels/plugin/topdnn/plugin.h"

namespace topdnn {

struct PluginLibrary {
  std::string path;
  const topdnn_plugin_table* table;
  std::string name;     // of its backend
  std::string version;  // or empty
  std::vector<std::string> operations;
};

// Loads the library with all its symbols, and checks its table. It stays loaded. Runs code of the
// library, which may crash. Throws RequestError.
PluginLibrary OpenPlugin(const std::string& path);

// A text of a plug-in: printable ASCII, with question marks for other characters, because reports
// and files contain it; empty for NULL. The end of a long one is left out.
std::string TextOf(const char* text);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_LIBRARY_H_
