#include "harness/results/json_value.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace topdnn {

JsonValue::JsonValue() : json_(std::make_unique<nlohmann::ordered_json>()) {}
JsonValue::JsonValue(nlohmann::ordered_json json)
    : json_(std::make_unique<nlohmann::ordered_json>(std::move(json))) {}
JsonValue::JsonValue(const JsonValue& other) : JsonValue(other.json()) {}
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) { return *this = JsonValue(other); }
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

}  // namespace topdnn
