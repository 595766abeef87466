// Parts of a JSON value for the HTML report.

#ifndef TOPDNN_HARNESS_REPORT_HTML_JSON_PARTS_H_
#define TOPDNN_HARNESS_REPORT_HTML_JSON_PARTS_H_

#include <nlohmann/json.hpp>
#include <string_view>

namespace topdnn {

// The member of an object; null if it is absent, and if `object` is not an object.
const nlohmann::ordered_json& MemberOrNull(const nlohmann::ordered_json& object, const char* key);

// The member, which must be null or absent, an object, or a list of objects or of texts. Throws
// nlohmann::json::type_error if it is something else.
const nlohmann::ordered_json& ObjectIn(const nlohmann::ordered_json& object, const char* key);
const nlohmann::ordered_json& ObjectsIn(const nlohmann::ordered_json& object, const char* key);
const nlohmann::ordered_json& TextsIn(const nlohmann::ordered_json& object, const char* key);

// These members of an object, or of null, in this order, rounded; an absent member stays absent.
// `keys` are separated by spaces.
nlohmann::ordered_json Members(const nlohmann::ordered_json& from, std::string_view keys);

// The same value with every number in it rounded to six significant digits. Integers stay exact.
// A number that is not finite becomes null.
nlohmann::ordered_json Rounded(const nlohmann::ordered_json& value);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_JSON_PARTS_H_
