#include "harness/report/grouped_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/text/text.h"

namespace topdnn {

std::string LabelOf(const Record& record) { return record.name + " " + WordsOf(record.pass); }

std::string NamesOfText::NamesText() const {
  constexpr std::size_t kMaxNames = 3;
  return names.size() > kMaxNames ? fmt::format("{} and {} more", names.front(), names.size() - 1)
                                  : fmt::format("{}", fmt::join(names, ", "));
}

void GroupedNames::Add(std::string_view text, std::string name) {
  auto place = std::find_if(groups_.begin(), groups_.end(),
                            [&](const NamesOfText& group) { return group.text == text; });
  if (place == groups_.end()) {
    place = groups_.insert(groups_.end(), {.text = std::string(text), .names = {}});
  }
  place->names.push_back(std::move(name));
}

}  // namespace topdnn
