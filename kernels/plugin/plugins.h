// Plug-ins: libraries of other people's kernels (topdnn/plugin.h), each of which becomes a backend.
//
// No function of a plug-in runs in this process before the same call has ended well in another
// one. A kernel that fails its check there is a FailedKernel.

#ifndef TOPDNN_KERNELS_PLUGIN_PLUGINS_H_
#define TOPDNN_KERNELS_PLUGIN_PLUGINS_H_

#include <string>
#include <vector>

#include "kernels/plugin/library.h"

namespace topdnn {

// Loads the libraries that are not loaded yet, in order, and registers their kernels. The paths are
// absolute. Call it before the process starts threads. A function of a plug-in may take
// `most_seconds` in its check. Throws RequestError.
void LoadPlugins(const std::vector<std::string>& paths, double most_seconds);

// The plug-ins that are loaded.
const std::vector<PluginLibrary>& Plugins();
bool IsPlugin(const std::string& backend);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_PLUGINS_H_
