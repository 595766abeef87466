// `--plugin FILE`, which every command that uses kernels takes. The libraries are loaded before the
// command line is parsed, because their backends are among the names that options accept.

#ifndef TOPDNN_BENCH_COMMAND_LINE_PLUGIN_WORDS_H_
#define TOPDNN_BENCH_COMMAND_LINE_PLUGIN_WORDS_H_

#include <string>
#include <vector>

namespace topdnn {

class CommandParser;

// Adds the option to a command.
void AddPluginOption(CommandParser& parser);

// The files that the words name, up to `--`.
std::vector<std::string> PluginsIn(const std::vector<std::string>& words);

// Loads the plug-ins that the words name, and those of TOPDNN_PLUGINS, in which this process passes
// them on to the processes of topdnn that it starts. Throws PluginError and UsageError.
void LoadPluginsOf(const std::vector<std::string>& words);

// Joins `--fallback` and a backend's name to one word: the option's value is optional.
std::vector<std::string> WithJoinedFallback(std::vector<std::string> words);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_PLUGIN_WORDS_H_
