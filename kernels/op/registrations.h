// A list that files join by themselves: kernels, variants, problems, networks, ... Each file
// defines a registration object at namespace scope, whose constructor adds an entry before main.
//
//   constinit Registrations<std::string, Variant> variants("variant");

#ifndef TOPDNN_KERNELS_OP_REGISTRATIONS_H_
#define TOPDNN_KERNELS_OP_REGISTRATIONS_H_

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace topdnn {

// Constant initialization makes the list usable before main, in any order of the files.
template <typename Key, typename Value>
class Registrations {
 public:
  // `what` names one entry in messages: "variant".
  constexpr explicit Registrations(std::string_view what) : what_(what) {}

  // Throws std::logic_error when the key is taken: one of the two entries would never be used.
  void Add(const Key& key, Value value) {
    if (!entries_) entries_.emplace();
    if (!entries_->emplace(key, std::move(value)).second) {
      throw std::logic_error(
          fmt::format("the {} {} is registered twice: remove or rename one", what_, key));
    }
  }

  // The value of a key, or nullptr.
  template <typename Name>
  const Value* Find(const Name& key) const {
    if (!entries_) return nullptr;
    const auto found = entries_->find(key);
    return found == entries_->end() ? nullptr : &found->second;
  }

  // All keys, sorted.
  std::vector<Key> Keys() const {
    std::vector<Key> keys;
    if (!entries_) return keys;
    for (const auto& [key, value] : *entries_) keys.push_back(key);
    return keys;
  }

  // All values, sorted by their keys.
  std::vector<Value> Values() const {
    std::vector<Value> values;
    if (!entries_) return values;
    for (const auto& [key, value] : *entries_) values.push_back(value);
    return values;
  }

 private:
  std::string_view what_;
  std::optional<std::map<Key, Value, std::less<>>> entries_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_REGISTRATIONS_H_
