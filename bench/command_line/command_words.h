// A command line as one text and back: a record keeps the command that made it, and it can be run
// again without a shell. Also splits a list that is one word.

#ifndef TOPDNN_BENCH_COMMAND_LINE_COMMAND_WORDS_H_
#define TOPDNN_BENCH_COMMAND_LINE_COMMAND_WORDS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// The words with spaces between them. An empty word, and a word with other characters than letters,
// digits and @%_+=:,./-, is in single quotes, as for a POSIX shell.
std::string JoinedWords(const std::vector<std::string>& words);

// The words of a text of JoinedWords. Absent if a quote is not closed.
std::optional<std::vector<std::string>> SplitWords(std::string_view text);

// The parts of "a,b,c", also empty ones. An empty text has none.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_COMMAND_WORDS_H_
