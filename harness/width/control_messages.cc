#include "harness/width/control_messages.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/text/nested_json.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string StatusReply(int process, const WidthControl& control) {
  Json reply = {{"ok", true},
                {"width", control.current()},
                {"wanted", control.wanted()},
                {"min", control.least()},
                {"max", control.most()},
                {"limit", nullptr},
                {"iterations", control.iterations()},
                {"pid", process}};
  if (control.limit() < std::numeric_limits<int>::max()) reply["limit"] = control.limit();
  return TextOf(reply);
}

// Returns an error, or nothing.
std::optional<std::string> SetWidth(const Json& request, WidthControl& control) {
  const auto width = request.find("width");
  if (width == request.end() || !width->is_number_integer()) {
    return "set_width needs \"width\": a whole number";
  }
  const bool too_large =
      width->is_number_unsigned() && width->get<std::uint64_t>() > std::numeric_limits<int>::max();
  const std::int64_t wanted = too_large ? 0 : width->get<std::int64_t>();
  if (wanted < control.least() || wanted > control.most() ||
      !control.SetWidth(static_cast<int>(wanted))) {
    return fmt::format("width {}: must be {} to {}", width->dump(), control.least(),
                       control.most());
  }
  return std::nullopt;
}

}  // namespace

std::string ControlRefusal(std::string_view error) {
  return TextOf(Json{{"ok", false}, {"error", error}});
}

std::string AnswerControl(std::string_view packet, int process, WidthControl& control) {
  if (packet.size() > kMaxControlPacket) {
    return ControlRefusal(fmt::format("the packet is longer than {} bytes", kMaxControlPacket));
  }
  const Json request = ParseForeignJson<Json>(packet);
  if (request.is_discarded()) return ControlRefusal("the packet is not JSON");
  if (!request.is_object()) return ControlRefusal("the packet is not a JSON object");
  const auto name = request.find("request");
  const std::string what =
      name != request.end() && name->is_string() ? name->get<std::string>() : "";
  if (what == "set_width") {
    if (const auto error = SetWidth(request, control)) return ControlRefusal(*error);
  } else if (what == "stop") {
    control.Stop();
  } else if (what != "status") {
    return ControlRefusal("\"request\" must be \"set_width\", \"status\" or \"stop\"");
  }
  return StatusReply(process, control);
}

}  // namespace topdnn
