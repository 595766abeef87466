// A list that files join by themselves: counter sources, reports, Top-Down tables. Each file
// defines a registration object at namespace scope, whose constructor adds an entry before main.
//
//   constinit RegisteredList<SourceOffer, &SourceOffer::name> offers("counter source");

#ifndef TOPDNN_HARNESS_TEXT_REGISTERED_LIST_H_
#define TOPDNN_HARNESS_TEXT_REGISTERED_LIST_H_

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace topdnn {

// `kName`: the member that names an entry. Constant initialization makes the list usable before
// main, in any order of the files.
template <typename Entry, std::string Entry::*kName>
class RegisteredList {
 public:
  // `what` names one entry in messages: "counter source".
  constexpr explicit RegisteredList(std::string_view what) : what_(what) {}

  // Throws std::logic_error when the name is taken: one of the two entries would never be used.
  void Add(Entry entry) {
    const auto place = PlaceOf(entry.*kName);
    if (place != entries_.end() && *place.*kName == entry.*kName) {
      throw std::logic_error(
          fmt::format("the {} {} is registered twice: remove or rename one", what_, entry.*kName));
    }
    entries_.insert(place, std::move(entry));
  }

  // Sorted by name.
  const std::vector<Entry>& entries() const { return entries_; }

  bool Contains(std::string_view name) const {
    const auto place = PlaceOf(name);
    return place != entries_.end() && *place.*kName == name;
  }

 private:
  // The first entry whose name is not below this one.
  auto PlaceOf(std::string_view name) const {
    return std::lower_bound(
        entries_.begin(), entries_.end(), name,
        [](const Entry& entry, std::string_view wanted) { return entry.*kName < wanted; });
  }

  std::string_view what_;
  std::vector<Entry> entries_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TEXT_REGISTERED_LIST_H_
