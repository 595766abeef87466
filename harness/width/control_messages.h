// The messages of a control socket: JSON objects, one per packet.
//
//   {"request": "set_width", "width": N}    asks for a width
//   {"request": "status"}                   asks only for the reply
//   {"request": "stop"}                     asks the run to end after this iteration
//
// The reply is {"ok": true, "width": in effect, "wanted": N, "min": least, "max": most, "limit": of
// the container, "iterations": complete ones, "pid": process}, or {"ok": false, "error": "one
// line"}.

#ifndef TOPDNN_HARNESS_WIDTH_CONTROL_MESSAGES_H_
#define TOPDNN_HARNESS_WIDTH_CONTROL_MESSAGES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/width/width_control.h"

namespace topdnn {

// A longer packet is refused.
inline constexpr std::size_t kMaxControlPacket = 4096;

// Does what the packet asks for, and returns the reply. Anything that is not a request changes
// nothing. `process` is the run's own number.
std::string AnswerControl(std::string_view packet, int process, WidthControl& control);

// {"ok": false, "error": error}
std::string ControlRefusal(std::string_view error);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_CONTROL_MESSAGES_H_
