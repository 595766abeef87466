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

// The files of the options --plugin in the words, up to `--`.
std::vector<std::string> PluginsIn(const std::vector<std::string>& words);

// Loads the plug-ins that the words and the environment variable TOPDNN_PLUGINS name. Then sets
// TOPDNN_PLUGINS to all of them, so that processes that this one starts load them, too. Throws
// RequestError and UsageError.
void LoadPluginsOf(const std::vector<std::string>& words);

// Joins `--fallback` and a backend's name after it to one word, "--fallback=NAME", and `--hot` and
// a number. The value of these options is optional, so the parser does not take the next word as
// it.
std::vector<std::string> WithJoinedValues(std::vector<std::string> words);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_PLUGIN_WORDS_H_
