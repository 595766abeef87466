// Parts of a text between separators.

#ifndef TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_
#define TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_

#include <string_view>
#include <vector>

namespace topdnn {

// The parts between these characters, empty ones included. An empty text has one part, which is
// empty. The parts are views of the text.
std::vector<std::string_view> SplitText(std::string_view text, std::string_view separators);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_SPLIT_TEXT_H_
