// The Markdown documents of the repository, and the commands in their ```sh blocks.

#ifndef TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_
#define TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// README.md, CONTRIBUTING.md and the pages of docs/, in this order.
std::vector<std::string> DocumentPaths();

// "docs/exact-counting.md" as a part of a test's name: "docs_exact_counting".
std::string TestNameOf(const std::string& document);

// The commands, in order. Lines that end in a backslash are joined; comments (from a `#` at the
// start of a word), blank lines and surrounding spaces are removed.
std::vector<std::string> ShellCommands(std::string_view markdown);

// The commands of a page that still have to run, if those in `tried` have already run with another
// page: the commands that are not in `tried`, and those that share a file (NAME.EXTENSION) with
// another command of the page.
std::vector<std::string> CommandsToTry(const std::vector<std::string>& page,
                                       const std::set<std::string>& tried);

// The program that a command starts, after leading variables (NAME=value).
std::string ProgramOf(std::string_view command);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HOUSE_SHELL_BLOCKS_H_
