// The many spellings of one event: the vendor's ("UOPS_ISSUED.ANY", "X:c4"), perf's
// ("uops_issued.any:u", "cpu_core/topdown-retiring/", "cpu/event=0x9c,umask=0x1,cmask=4/",
// "r20c2").

#ifndef TOPDNN_HARNESS_TOPDOWN_EVENT_NAME_H_
#define TOPDNN_HARNESS_TOPDOWN_EVENT_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

struct EventName {
  std::string pmu;   // "cpu_core"; empty if not given
  std::string name;  // upper case, counter mask as ":C4"; without privilege modifiers
  std::optional<std::uint64_t> code;  // perf_event_attr.config, if the spelling contains it
};

// Never fails: an unknown spelling becomes a name that no table reads.
EventName ParseEventName(std::string_view spelling);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_EVENT_NAME_H_
