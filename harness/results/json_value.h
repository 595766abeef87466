// A JSON value as a member of a structure that many files include. nlohmann/json.hpp takes a second
// to compile; this header needs only its forward declarations.

#ifndef TOPDNN_HARNESS_RESULTS_JSON_VALUE_H_
#define TOPDNN_HARNESS_RESULTS_JSON_VALUE_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace topdnn {

// Null by default, and after being moved from it can only be assigned to or destroyed.
class JsonValue {
 public:
  JsonValue();
  JsonValue(nlohmann::ordered_json json);  // NOLINT(google-explicit-constructor): the same value
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  nlohmann::ordered_json& json() { return *json_; }
  const nlohmann::ordered_json& json() const { return *json_; }

 private:
  std::unique_ptr<nlohmann::ordered_json> json_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_JSON_VALUE_H_
