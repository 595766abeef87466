// Text from outside (names in a file, paths, what a library says) for a terminal: one line, whose
// bytes cannot control the terminal.

#ifndef TOPDNN_HARNESS_TEXT_ONE_LINE_H_
#define TOPDNN_HARNESS_TEXT_ONE_LINE_H_

#include <string>
#include <string_view>

namespace topdnn {

// Replaces control characters, line and paragraph separators and marks of writing direction by
// escapes ("\n", "\u{1b}"), and bytes that are not UTF-8 by "\xff". Other text does not change.
std::string OneLine(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_ONE_LINE_H_
