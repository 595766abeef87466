// JSON that others wrote. nlohmann's parser takes any depth, and copying, comparing and writing its
// values recurse, so a small file of brackets would overflow the stack later.

#ifndef TOPDNN_HARNESS_TEXT_NESTED_JSON_H_
#define TOPDNN_HARNESS_TEXT_NESTED_JSON_H_

#include <string_view>

namespace topdnn {

// Whether brackets outside of strings are nested deeper than in any file that topdnn reads.
bool NestedTooDeeply(std::string_view json);

// The value of the text; discarded if it is no JSON or nested too deeply.
template <class Json>
Json ParseForeignJson(std::string_view text) {
  return NestedTooDeeply(text) ? Json(Json::value_t::discarded)
                               : Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_NESTED_JSON_H_
