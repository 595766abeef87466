#include "harness/topdown/event_name.h"

#include <cctype>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::optional<std::uint64_t> Number(std::string_view text, int base) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.remove_prefix(2);
    base = 16;
  }
  return ParseNumber<std::uint64_t>(text, base);
}

// perf's modifiers (perf-list(1), "EVENT MODIFIERS"): privilege, precision, pinning.
bool IsPrivilege(std::string_view modifier) {
  return !modifier.empty() && modifier.find_first_not_of("ukhIGHpPSDWbR") == std::string_view::npos;
}

// "c4", "C=4", "cmask=0x4": the counter mask.
std::optional<std::uint64_t> CounterMask(std::string_view modifier) {
  const std::string upper = Upper(modifier);
  for (const std::string_view prefix : {"CMASK=", "C=", "C"}) {
    if (upper.rfind(prefix, 0) == 0) {
      return Number(std::string_view(upper).substr(prefix.size()), 10);
    }
  }
  return std::nullopt;
}

void AddModifier(std::string_view modifier, std::string& name) {
  if (IsPrivilege(modifier) || modifier.empty()) return;
  const std::string upper = Upper(modifier);
  if (const auto mask = CounterMask(modifier)) {
    name += ":C" + std::to_string(*mask);
  } else if (upper == "E" || upper == "E1" || upper == "E=1" || upper == "EDGE=1") {
    name += ":EDGE";
  } else if (upper == "I" || upper == "I1" || upper == "I=1" || upper == "INV=1") {
    name += ":INV";
  } else {
    name += ":" + upper;
  }
}

// The terms between slashes. Fields of the code: bits 0-7 and 32-35 event, 8-15 umask, 18 edge,
// 21 any, 23 inv, 24-31 cmask, 36 eq (sysfs, /sys/bus/event_source/devices/cpu/format).
void AddTerms(std::string_view terms, EventName& event) {
  std::uint64_t code = 0;
  bool coded = false;
  // The name comes first, wherever it stands: the other terms are its modifiers.
  for (const std::string_view term : SplitText(terms, ",")) {
    if (!event.name.empty() || term.empty() || term.find('=') != std::string_view::npos) continue;
    const std::string name = Upper(term);
    if (name != "EDGE" && name != "ANY" && name != "INV" && name != "EQ") event.name = name;
  }
  for (const std::string_view term : SplitText(terms, ",")) {
    const std::size_t equals = term.find('=');
    const std::string key = Upper(term.substr(0, equals));
    const bool valued = equals != std::string_view::npos;
    const std::uint64_t value =
        valued ? Number(term.substr(equals + 1), 10).value_or(0) : std::uint64_t{1};
    if (key == "EVENT") {
      coded = true;
      code |= (value & 0xFF) | (value & 0xF00) << 24;
    } else if (key == "CONFIG") {
      coded = true;
      code |= value;
    } else if (key == "UMASK") {
      code |= value << 8;
    } else if (key == "EDGE" || key == "ANY" || key == "INV" || key == "EQ") {
      const int bit = key == "EDGE" ? 18 : key == "ANY" ? 21 : key == "INV" ? 23 : 36;
      code |= (value & 1) << bit;
      if (!event.name.empty() && value != 0) event.name += ":" + key;
    } else if (key == "CMASK") {
      code |= value << 24;
      if (!event.name.empty()) AddModifier(term, event.name);
    }
  }
  if (coded) event.code = code;
}

void AddRawCode(EventName& event) {
  const std::string& name = event.name;
  if (name.size() < 2 || name[0] != 'R') return;
  if (const auto code = Number(std::string_view(name).substr(1), 16)) event.code = code;
}

}  // namespace

EventName ParseEventName(std::string_view spelling) {
  EventName event;
  while (!spelling.empty() && std::isspace(static_cast<unsigned char>(spelling.front())) != 0) {
    spelling.remove_prefix(1);
  }
  while (!spelling.empty() && std::isspace(static_cast<unsigned char>(spelling.back())) != 0) {
    spelling.remove_suffix(1);
  }
  const std::size_t open = spelling.find('/');
  if (open != std::string_view::npos) {
    event.pmu = std::string(spelling.substr(0, open));
    const std::size_t close = spelling.rfind('/');
    const std::size_t length = close > open ? close - open - 1 : std::string_view::npos;
    AddTerms(spelling.substr(open + 1, length), event);
    return event;
  }
  const auto parts = SplitText(spelling, ":");
  event.name = Upper(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) AddModifier(parts[i], event.name);
  AddRawCode(event);
  return event;
}

}  // namespace topdnn
