// Names of rows, grouped by a text that they share: each text is printed once.

#ifndef TOPDNN_HARNESS_REPORT_GROUPED_NAMES_H_
#define TOPDNN_HARNESS_REPORT_GROUPED_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/results/record.h"

namespace topdnn {

// "conv1 backward data".
std::string LabelOf(const Record& record);

struct NamesOfText {
  std::string text;
  std::vector<std::string> names;

  // "a, b, c"; for more than three names: "a and 5 more".
  std::string NamesText() const;
};

// In the order of the first name of each text.
class GroupedNames {
 public:
  void Add(std::string_view text, std::string name);
  const std::vector<NamesOfText>& groups() const { return groups_; }

 private:
  std::vector<NamesOfText> groups_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_GROUPED_NAMES_H_
