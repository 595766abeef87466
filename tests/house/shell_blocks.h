// The Markdown documents of the repository, and the commands that they show in ```sh blocks.

#ifndef TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_
#define TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// README.md, CONTRIBUTING.md and the pages of docs/, in this order.
std::vector<std::string> DocumentPaths();

// "docs/exact-counting.md" as a part of a test's name: "docs_exact_counting".
std::string TestNameOf(const std::string& document);

// One entry per command, in order: lines ending in a backslash are joined, comments (from a `#` at
// the start of a word) and blank lines left out, spaces at the ends trimmed.
std::vector<std::string> ShellCommands(std::string_view markdown);

// The program that a command starts, variables set in front of it (NAME=value) passed over.
std::string ProgramOf(std::string_view command);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_
