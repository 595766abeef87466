#include "harness/report/html/json_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "harness/report/json.h"
#include "harness/text/split_text.h"

namespace topdnn {

using Json = nlohmann::ordered_json;

const Json& MemberOrNull(const Json& object, const char* key) {
  static const Json kNull = nullptr;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

const Json& ObjectIn(const Json& object, const char* key) {
  const Json& member = MemberOrNull(object, key);
  if (!member.is_null()) member.get_ref<const Json::object_t&>();
  return member;
}

const Json& ObjectsIn(const Json& object, const char* key) {
  const Json& member = MemberOrNull(object, key);
  if (member.is_null()) return member;
  for (const Json& one : member.get_ref<const Json::array_t&>()) {
    one.get_ref<const Json::object_t&>();
  }
  return member;
}

const Json& TextsIn(const Json& object, const char* key) {
  const Json& member = MemberOrNull(object, key);
  if (member.is_null()) return member;
  for (const Json& one : member.get_ref<const Json::array_t&>()) {
    one.get_ref<const Json::string_t&>();
  }
  return member;
}

Json Members(const Json& from, std::string_view keys) {
  Json to = Json::object();
  for (const std::string_view key : SplitText(keys, " ")) {
    const auto found = from.find(key);
    if (found != from.end()) to[std::string(key)] = Rounded(*found);
  }
  return to;
}

Json Rounded(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) return nullptr;
    // Six significant decimal digits: fewer digits make a smaller page.
    return JsonNumber(std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr));
  }
  if (!value.is_structured()) return value;
  Json rounded = value.is_array() ? Json::array() : Json::object();
  for (const auto& [key, member] : value.items()) {
    if (value.is_array()) {
      rounded.push_back(Rounded(member));
    } else {
      rounded[key] = Rounded(member);
    }
  }
  return rounded;
}

}  // namespace topdnn
