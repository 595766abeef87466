// `perf stat -j`: one JSON object per count or metric, usually one a line. Some versions write two
// objects on a line, a comma before the closing brace, numbers with decimal commas, or nan.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "harness/text/nested_json.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/perf_stat.h"

namespace topdnn {

namespace {

bool IsNumeral(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Corrects what is not JSON outside of strings: 12,5 becomes 12.5; a comma before the brace, nan
// and inf are removed or become null.
std::string Corrected(std::string_view text) {
  std::string fixed;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && c == ',') {
      std::size_t next = i + 1;
      while (next < text.size() && IsBlank(text[next])) ++next;
      if (next < text.size() && text[next] == '}') continue;
      const bool decimal =
          i > 0 && i + 1 < text.size() && IsNumeral(text[i - 1]) && IsNumeral(text[i + 1]);
      fixed += decimal ? '.' : ',';
      continue;
    }
    if (!quoted && (text.substr(i, 3) == "nan" || text.substr(i, 3) == "inf")) {
      if (!fixed.empty() && fixed.back() == '-') fixed.pop_back();
      fixed += "null";
      i += 2;
      continue;
    }
    fixed += c;
  }
  return fixed;
}

// The end of the object that begins at `text`: the position after its brace; npos if it has none.
std::size_t EndOfObject(std::string_view text) {
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
    if (depth > 2) break;
  }
  return std::string_view::npos;
}

std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& where) : where_(where) {
    int number = 1;
    while (!text.empty()) {
      const char c = text.front();
      std::size_t length = 1;
      if (c == '{') {
        length = EndOfObject(text);
        if (length == std::string_view::npos) Refuse(number);
        Read(text.substr(0, length), number);
      } else if (c == '#') {  // "# started on ..."
        length = std::min(text.find('\n'), text.size());
        const bool begins = text.starts_with("# started on");
        if (begins && !collector_.recorded().counts.empty()) ++run_;
      } else if (!IsBlank(c) && c != ',' && c != '[' && c != ']') {
        Refuse(number);
      }
      for (const char passed : text.substr(0, length)) number += passed == '\n' ? 1 : 0;
      text.remove_prefix(length);
    }
  }
  RecordedCounts Take() { return std::move(collector_.recorded()); }

 private:
  [[noreturn]] void Refuse(int line) const {
    throw TopdownError(fmt::format(
        "{}:{}: not a JSON object: give the complete output of `perf stat -j`", where_, line));
  }

  void Read(std::string_view text, int line) {
    nlohmann::json object = ParseForeignJson<nlohmann::json>(text);
    if (object.is_discarded()) object = ParseForeignJson<nlohmann::json>(Corrected(text));
    if (!object.is_object()) Refuse(line);
    CountOrigin origin = {.interval = TextOf(object, "interval"), .run = run_};
    for (const char* part :
         {"cpu", "core", "cluster", "cache", "die", "socket", "node", "thread"}) {
      if (!object.contains(part)) continue;
      if (!origin.part.empty()) origin.part += '-';
      origin.part += part + TextOf(object, part);
    }
    if (!TextOf(object, "cgroup").empty()) origin.group = TextOf(object, "cgroup");
    const std::string event = TextOf(object, "event");
    if (object.contains("counter-value") && !event.empty()) {
      const std::string at = fmt::format("{}:{}", where_, line);
      RecordedCount count = ParsePerfCount(TextOf(object, "counter-value"), true, event, at);
      count.running_fraction = RunningFraction(TextOf(object, "pcnt-running"));
      if (object.contains("variance")) collector_.recorded().means = true;
      collector_.Add(origin, event, count);
      last_ = origin;
    } else if (origin == CountOrigin{.run = run_}) {
      origin = last_;  // a metric's own object belongs to the event before it
    }
    const std::string unit = TextOf(object, "metric-unit");
    const auto value = ParseLocalNumber(TextOf(object, "metric-value"), false);
    if (value && !unit.empty() && unit != "(null)") collector_.AddMetric(origin, unit, *value);
  }

  const std::string& where_;
  CountCollector collector_;
  CountOrigin last_;
  int run_ = 0;
};

}  // namespace

RecordedCounts ParsePerfJson(std::string_view text, const std::string& where) {
  return JsonReader(text, where).Take();
}

}  // namespace topdnn
