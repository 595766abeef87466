// Whole numbers for a person: "435,440".

#ifndef TOPDNN_HARNESS_TEXT_GROUPED_DIGITS_H_
#define TOPDNN_HARNESS_TEXT_GROUPED_DIGITS_H_

#include <cstdint>
#include <string>

namespace topdnn {

inline std::string GroupedDigits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_GROUPED_DIGITS_H_
