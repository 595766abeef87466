#include "harness/text/nested_json.h"

#include <cstddef>

namespace topdnn {

bool NestedTooDeeply(std::string_view json) {
  constexpr int kDeepest = 200;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

}  // namespace topdnn
