#include "harness/topdown/perf_stat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool IsUncounted(std::string_view field) {
  return field == "<not counted>" || field == "<not supported>";
}

// "nan", "-inf", "Infinity": perf never prints these as counts, and the line would otherwise pass
// as a metric.
bool IsNotFinite(std::string_view field) {
  std::string word;
  if (field.size() > 10) return false;
  for (const char c : field) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  return word == "nan" || word == "inf" || word == "infinity";
}

using Fields = std::vector<std::string_view>;

// The closing slash of an event's terms, "cpu/event=0x9c,umask=0x1/", that open at `slash`; npos if
// the slash is another one, as in a control group "system.slice/web" or a unit "K/sec".
std::size_t EndOfTerms(std::string_view line, std::size_t slash, char separator) {
  const std::size_t close = line.find('/', slash + 1);
  if (close == std::string_view::npos) return close;
  bool begins = true;  // a term
  for (const char c : line.substr(slash + 1, close - slash - 1)) {
    const bool name = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
    if ((begins && !name) || (c == separator && c != ',')) return std::string_view::npos;
    begins = c == ',';
  }
  return close;
}

// Splits at the separator, except within an event.
Fields SplitFields(std::string_view line, char separator) {
  Fields fields;
  std::size_t first = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '/') {
      const std::size_t close = EndOfTerms(line, i, separator);
      if (close != std::string_view::npos) i = close;
    }
    if (line[i] != separator) continue;
    fields.push_back(Trimmed(line.substr(first, i - first)));
    first = i + 1;
  }
  fields.push_back(Trimmed(line.substr(first)));
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

// The index of the count: a number (or <not ...>) before a unit and an event.
std::optional<std::size_t> CountField(const Fields& fields) {
  for (std::size_t i = 0; i + 2 < fields.size(); ++i) {
    if (!IsUnit(fields[i + 1]) || !IsEvent(fields[i + 2])) continue;
    if (IsUncounted(fields[i]) || ParseLocalNumber(fields[i], true)) return i;
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
std::optional<std::size_t> FirstField(const Fields& fields, std::size_t last) {
  const auto digits = [&](std::size_t i, std::size_t least, std::size_t most) {
    return fields[i].size() >= least && fields[i].size() <= most && AllDigits(fields[i]);
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
      if (CountField(SplitFields(rest.substr(0, end), candidate))) ++lines;
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (lines > most) {
      most = lines;
      best = candidate;
    }
  }
  return best;
}

// "1.000103288" of -I, or the word that perf writes before the summary of all intervals.
bool IsTime(std::string_view field) {
  const std::size_t point = field.find('.');
  return point != std::string_view::npos && AllDigits(field.substr(0, point)) &&
         AllDigits(field.substr(point + 1));
}

// The fields before the count.
CountOrigin OriginOf(const Fields& fields, std::size_t count, int run) {
  CountOrigin origin = {.run = run};
  std::size_t i = 0;
  if (count > 0 && IsTime(fields[0])) origin.interval = fields[i++];
  if (i < count && fields[i] == "summary") ++i;
  for (; i < count; ++i) {
    const bool cpus = AllDigits(fields[i]) && i > 0 && IsBeforeNumberOfCpus(fields[i - 1]);
    if (cpus) continue;
    if (!origin.part.empty()) origin.part += '-';
    origin.part += fields[i];
  }
  return origin;
}

// The fields after the event.
struct Tail {
  std::optional<std::string> group;
  bool noise = false;
  double running = 1;
  std::size_t metric = 0;  // the field of the metric's value; 0: none
};

bool IsPercentage(std::string_view field) {
  return field.size() > 1 && field.ends_with('%') &&
         ParseLocalNumber(field.substr(0, field.size() - 1), false).has_value();
}

// The run time and its share of the time, from field `i`, after the noise of -r. With decimal
// commas the noise and the percentage have two fields each: "0,31%" and "25,09".
std::optional<Tail> TailAt(const Fields& fields, std::size_t i) {
  Tail tail;
  const auto is = [&](std::size_t at, auto predicate) {
    return at < fields.size() && predicate(fields[at]);
  };
  if (is(i, IsPercentage)) {
    tail.noise = true;
    ++i;
  } else if (is(i, AllDigits) && is(i + 1, IsPercentage) && fields[i + 1].size() == 3) {
    tail.noise = true;
    i += 2;
  }
  if (!is(i, AllDigits) || i + 1 >= fields.size()) return std::nullopt;
  const auto percent = ParseLocalNumber(fields[i + 1], false);
  if (!percent || *percent < 0 || *percent > 101) return std::nullopt;
  tail.running = RunningFraction(fields[i + 1]);
  if (i + 3 < fields.size()) tail.metric = i + 2;
  return tail;
}

Tail TailOf(const Fields& fields, std::size_t event) {
  const std::size_t first = event + 1;
  if (first >= fields.size()) return {};
  if (const auto tail = TailAt(fields, first)) return *tail;
  Tail tail = TailAt(fields, first + 1).value_or(Tail{});
  if (!fields[first].empty()) tail.group = std::string(fields[first]);
  return tail;
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& where)
      : where_(where), separator_(SeparatorOf(text)) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      Read(text.substr(0, end), number);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }
  RecordedCounts Take() { return std::move(collector_.recorded()); }

 private:
  void Read(std::string_view line, int number) {
    if (Trimmed(line).empty()) return;
    if (Trimmed(line).front() == '#') {
      // perf begins each recording of a file with this line.
      if (Trimmed(line).starts_with("# started on") && !collector_.recorded().counts.empty())
        ++run_;
      return;
    }
    const std::string at = fmt::format("{}:{}", where_, number);
    const Fields fields = SplitFields(line, separator_);
    for (const std::string_view field : fields) {
      if (!IsNotFinite(field)) continue;
      throw TopdownError(
          fmt::format("{}: '{}' is not a count: record again with LC_ALL=C perf stat", at, field));
    }
    if (const auto count = CountField(fields)) {
      ReadCount(fields, *count, at);
    } else if (std::count(fields.begin(), fields.end(), "") >= 3) {
      ReadMetric(fields);
    } else if (line.find("_bound") != std::string_view::npos) {
      RefuseMetricsOnly(at);
    } else {
      throw TopdownError(
          fmt::format("{}: neither JSON nor a line of `perf stat -x,` (count,unit,event,...): give "
                      "one of these",
                      at));
    }
  }

  void ReadCount(const Fields& fields, std::size_t count, const std::string& at) {
    const std::string_view event = fields[count + 2];
    const auto first = separator_ == ',' ? FirstField(fields, count) : count;
    if (!first) {
      throw TopdownError(fmt::format(
          "{}: the count of {} is split by commas: record again with LC_ALL=C perf stat", at,
          event.substr(0, 80)));
    }
    std::string text;
    for (std::size_t i = *first; i <= count; ++i) text += fields[i];
    RecordedCount recorded = ParsePerfCount(text, fields[count + 1].empty(), event, at);
    const Tail tail = TailOf(fields, count + 2);
    recorded.running_fraction = tail.running;
    if (tail.noise) collector_.recorded().means = true;
    CountOrigin origin = OriginOf(fields, *first, run_);
    origin.group = tail.group;
    collector_.Add(origin, event, recorded);
    if (tail.metric != 0) AddMetric(origin, fields, tail.metric);
    last_ = origin;
  }

  // A metric's own line belongs to the event before it.
  void ReadMetric(const Fields& fields) {
    if (fields.size() >= 2) AddMetric(last_, fields, fields.size() - 2);
  }

  void AddMetric(const CountOrigin& origin, const Fields& fields, std::size_t at) {
    const auto value = ParseLocalNumber(fields[at], false);
    if (value && !fields[at + 1].empty()) collector_.AddMetric(origin, fields[at + 1], *value);
  }

  const std::string& where_;
  const char separator_;
  CountCollector collector_;
  CountOrigin last_;
  int run_ = 0;
};

}  // namespace

std::optional<double> ParseLocalNumber(std::string_view text, bool integral) {
  constexpr std::size_t kLongest = 64;
  text = Trimmed(text);
  if (text.size() > kLongest) return std::nullopt;
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
  const auto value = ParseNumber<double>(number);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

RecordedCount ParsePerfCount(std::string_view text, bool integral, std::string_view event,
                             const std::string& where) {
  text = Trimmed(text);
  if (text == "<not supported>") return {.why = Uncounted::kNotSupported};
  if (IsUncounted(text)) return {};
  const auto value = ParseLocalNumber(text, integral);
  if (value && *value >= 0 && *value <= kMaxCount) return {.value = value};
  throw TopdownError(
      fmt::format("{}: the count '{}' of {} is not a number from 0 to 2^64: record again "
                  "with LC_ALL=C perf stat",
                  where, text.substr(0, 40), event.substr(0, 80)));
}

double RunningFraction(std::string_view percent) {
  const auto value = ParseLocalNumber(percent, false);
  return value ? std::clamp(*value / 100, 0.0, 1.0) : 1;
}

void RefuseMetricsOnly(const std::string& where) {
  throw TopdownError(fmt::format(
      "{}: metrics without counts (perf stat --metric-only): record without this option", where));
}

RecordedCounts ParsePerfCsv(std::string_view text, const std::string& where) {
  return CsvReader(text, where).Take();
}

}  // namespace topdnn
