// Parts of a text: without the blanks around it, and between separators.

#ifndef TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_
#define TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_

#include <string_view>
#include <vector>

namespace topdnn {

// The parts between these characters, empty ones included. An empty text has one part, which is
// empty. The parts are views of the text.
std::vector<std::string_view> SplitText(std::string_view text, std::string_view separators);

// The text without spaces, tabs and carriage returns at its ends: a view of it.
std::string_view Trimmed(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_
