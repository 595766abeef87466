#include "harness/topdown/perf_stat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace topdnn {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool IsUncounted(std::string_view field) {
  return field == "<not counted>" || field == "<not supported>";
}

// "nan", "-inf", "Infinity": perf never prints these as counts, and the line would otherwise pass
// as a metric.
bool IsNotFinite(std::string_view field) {
  std::string word;
  for (const char c : field) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  return word == "nan" || word == "inf" || word == "infinity";
}

// Sums the counts of each event over CPUs and intervals; `origin` identifies a CPU and an interval.
// If one count is absent, the sum is absent: a sum of the rest would be too low. If an event is
// repeated for the same origin, it was opened in two groups, and the first count is used.
class Totals {
 public:
  void Add(const std::string& origin, const std::string& spelling, std::optional<double> value,
           double running) {
    if (!seen_.insert(origin + '\n' + spelling).second) return;
    const auto [place, fresh] = index_.emplace(spelling, recorded_.counts.size());
    if (fresh) {
      recorded_.counts.push_back(
          {ParseEventName(spelling), spelling, value, value ? running : 0.0});
      return;
    }
    RecordedCount& count = recorded_.counts[place->second];
    count.value = count.value && value ? std::optional(*count.value + *value) : std::nullopt;
    count.running_fraction = std::min(count.running_fraction, running);
  }
  RecordedCounts Take() { return std::move(recorded_); }

 private:
  RecordedCounts recorded_;
  std::map<std::string, std::size_t> index_;
  std::set<std::string> seen_;
};

// Splits at the separator, except within an event: "cpu/event=0x9c,umask=0x1/".
std::vector<std::string> Fields(std::string_view line, char separator) {
  std::vector<std::string> fields;
  bool inside = false;  // an event's slashes
  std::string field;
  for (const char c : line) {
    if (c == '/') inside = !inside;
    if (c == separator && !inside) {
      fields.push_back(std::string(Trim(field)));
      field.clear();
    } else {
      field += c;
    }
  }
  fields.push_back(std::string(Trim(field)));
  return fields;
}

bool IsUnit(std::string_view field) {
  return std::all_of(field.begin(), field.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '%';
  });
}

bool IsEvent(std::string_view field) {
  return !field.empty() && std::isalpha(static_cast<unsigned char>(field.front())) != 0;
}

// The index of the count: a number (or <not ...>) before a unit and an event. A time stamp (-I) and
// a CPU or core (-A, --per-core) may precede the count, and other fields may follow the event.
std::optional<std::size_t> CountField(const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i + 2 < fields.size(); ++i) {
    const bool count = IsUncounted(fields[i]) || ParseLocalNumber(fields[i], true).has_value();
    if (count && IsUnit(fields[i + 1]) && IsEvent(fields[i + 2])) return i;
  }
  return std::nullopt;
}

// Whether the field is a core, socket or node ("S0-D0-C0", "S0", "N1"), after which perf writes its
// number of CPUs. Not one CPU ("CPU0") or thread ("name-1234").
bool IsBeforeNumberOfCpus(std::string_view field) {
  if (!field.starts_with('S') && !field.starts_with('N')) return false;
  const std::string_view last = field.substr(field.rfind('-') + 1);
  return !last.empty() && !IsDigit(last.front());
}

// The first field of a count that was split at its own commas, "12,345,678", and ends in field
// `last`. Absent if a number precedes the count that can be neither a part of it nor a number of
// CPUs.
std::optional<std::size_t> FirstField(const std::vector<std::string>& fields, std::size_t last) {
  const auto digits = [&](std::size_t i, std::size_t least, std::size_t most) {
    const std::string& field = fields[i];
    return field.size() >= least && field.size() <= most &&
           std::all_of(field.begin(), field.end(), IsDigit);
  };
  const auto is_number_of_cpus = [&](std::size_t i) {
    return i > 0 && i < last && IsBeforeNumberOfCpus(fields[i - 1]);
  };
  std::size_t first = last;
  while (first > 0 && digits(first, 3, 3) && digits(first - 1, 1, 3)) --first;
  if (is_number_of_cpus(first)) ++first;
  const bool cut =
      first > 0 && digits(first - 1, 1, std::string::npos) && !is_number_of_cpus(first - 1);
  return cut ? std::nullopt : std::optional(first);
}

// The user chooses perf's separator: use the one with which most lines have a count.
char SeparatorOf(std::string_view text) {
  char best = ',';
  int most = 0;
  for (const char candidate : {',', ';', '\t', '|', ':'}) {
    int lines = 0;
    std::string_view rest = text.substr(0, 65536);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      if (CountField(Fields(rest.substr(0, end), candidate))) ++lines;
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (lines > most) {
      most = lines;
      best = candidate;
    }
  }
  return best;
}

// Share of the time on a counter, from the percentage that follows the event and its run time.
double RunningFraction(const std::vector<std::string>& fields, std::size_t event) {
  if (event + 2 >= fields.size()) return 1;
  const auto percent = ParseLocalNumber(fields[event + 2], false);
  return percent ? std::clamp(*percent / 100, 0.0, 1.0) : 1;
}

double CheckedCount(std::string_view text, bool integral, const std::string& event,
                    const std::string& where) {
  const auto value = ParseLocalNumber(text, integral);
  if (value && *value >= 0 && *value <= kMaxCount) return *value;
  throw TopdownError(
      fmt::format("{}: the count '{}' of {} is not a number from 0 to 2^64: record again "
                  "with LC_ALL=C perf stat",
                  where, text.substr(0, 40), event));
}

// perf writes decimal commas into its JSON in some locales: 12,5 outside of strings becomes 12.5.
std::string WithDecimalPoints(std::string_view line) {
  std::string fixed(line);
  bool quoted = false;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] == '"') quoted = !quoted;
    if (quoted || fixed[i] != ',' || i == 0 || i + 1 >= fixed.size()) continue;
    if (IsDigit(fixed[i - 1]) && IsDigit(fixed[i + 1])) fixed[i] = '.';
  }
  return fixed;
}

std::string TextOf(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AddJsonLine(std::string_view line, const std::string& where, Totals& totals) {
  nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  if (object.is_discarded()) {
    object = nlohmann::json::parse(WithDecimalPoints(line), nullptr, false);
  }
  if (!object.is_object()) {
    throw TopdownError(
        fmt::format("{}: not a JSON object: give the complete output of `perf stat -j`", where));
  }
  // A line with only a metric has no count.
  if (!object.contains("counter-value") || !object.contains("event")) return;
  const std::string event = TextOf(object["event"]);
  const std::string text = TextOf(object["counter-value"]);
  if (event.empty()) return;
  std::optional<double> value;
  if (!IsUncounted(Trim(text))) value = CheckedCount(text, true, event, where);
  double running = 1;
  if (object.contains("pcnt-running")) {
    const auto percent = ParseLocalNumber(TextOf(object["pcnt-running"]), false);
    if (percent) running = std::clamp(*percent / 100, 0.0, 1.0);
  }
  for (const char* own : {"counter-value", "unit", "event", "event-runtime", "pcnt-running",
                          "metric-value", "metric-unit"}) {
    object.erase(own);
  }
  totals.Add(object.dump(), event, value, running);
}

template <typename Line>
void ForEachLine(std::string_view text, const std::string& where, Line&& line) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = Trim(text.substr(0, end));
    if (!whole.empty() && whole.front() != '#') line(whole, fmt::format("{}:{}", where, number));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

std::optional<double> ParseLocalNumber(std::string_view text, bool integral) {
  text = Trim(text);
  std::string plain;  // digits, sign and separators
  std::size_t separators = 0;
  std::set<char> kinds;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '-' && i == 0) || IsDigit(c)) {
      plain += c;
    } else if (c == ',' || c == '.') {
      plain += c;
      kinds.insert(c);
      ++separators;
    } else if (c != '\'' && c != ' ' && c != '\xC2' && c != '\xA0' && c != '\xE2' && c != '\x80' &&
               c != '\xAF' && c != '\x99') {  // grouping spaces and the apostrophe, in UTF-8
      return std::nullopt;
    }
  }
  const std::size_t last = plain.find_last_of(",.");
  bool decimal = false;
  if (separators > 0) {
    const std::size_t after = plain.size() - last - 1;
    decimal = kinds.size() == 2 || (separators == 1 && (after != 3 || !integral));
    if (!decimal && after != 3) return std::nullopt;
  }
  std::string number;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] != ',' && plain[i] != '.') {
      number += plain[i];
    } else if (decimal && i == last) {
      number += '.';
    }
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || stop != number.data() + number.size()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

RecordedCounts ParsePerfCsv(std::string_view text, const std::string& where) {
  const char separator = SeparatorOf(text);
  Totals totals;
  ForEachLine(text, where, [&](std::string_view line, const std::string& at) {
    const auto fields = Fields(line, separator);
    for (const std::string& field : fields) {
      if (!IsNotFinite(field)) continue;
      throw TopdownError(
          fmt::format("{}: '{}' is not a count: record again with LC_ALL=C perf stat", at, field));
    }
    const auto count = CountField(fields);
    if (!count) {
      // A metric's own line leaves count, unit and event empty.
      const bool metric = std::count(fields.begin(), fields.end(), "") >= 3;
      if (metric) return;
      throw TopdownError(
          fmt::format("{}: neither JSON nor a line of `perf stat -x,` (count,unit,event,...): give "
                      "one of these",
                      at));
    }
    const std::string& event = fields[*count + 2];
    const auto first = separator == ',' ? FirstField(fields, *count) : count;
    if (!first) {
      throw TopdownError(fmt::format(
          "{}: the count of {} is split by commas: record again with LC_ALL=C perf stat", at,
          event));
    }
    std::string text_of_count;
    for (std::size_t i = *first; i <= *count; ++i) text_of_count += fields[i];
    std::optional<double> value;
    if (!IsUncounted(text_of_count)) {
      value = CheckedCount(text_of_count, fields[*count + 1].empty(), event, at);
    }
    std::string origin;  // time stamp, CPU
    for (std::size_t i = 0; i < *first; ++i) origin += fields[i] + separator;
    totals.Add(origin, event, value, RunningFraction(fields, *count + 2));
  });
  return totals.Take();
}

RecordedCounts ParsePerfJson(std::string_view text, const std::string& where) {
  Totals totals;
  ForEachLine(text, where,
              [&](std::string_view line, const std::string& at) { AddJsonLine(line, at, totals); });
  return totals.Take();
}

}  // namespace topdnn
