// Numbers in text that a person or another program wrote.

#ifndef TOPDNN_HARNESS_TEXT_PARSE_NUMBER_H_
#define TOPDNN_HARNESS_TEXT_PARSE_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace topdnn {

// The number that the whole text is: no blanks, no plus sign, whatever the locale is. Absent if the
// text is anything else, or the type cannot hold it. A floating-point number can be "inf" or "nan".
template <class Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  Number value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result parsed;
  if constexpr (std::is_floating_point_v<Number>) {
    parsed = std::from_chars(text.data(), end, value);
  } else {
    parsed = std::from_chars(text.data(), end, value, base);
  }
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_PARSE_NUMBER_H_
