#include "harness/topdown/event_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/files/input_file.h"
#include "harness/topdown/perf_stat.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxEventFileBytes = std::size_t{64} << 20;
constexpr int kMaxDepth = 8;  // deepest nesting of a valid file

// Text of the file in a message: its beginning, if it is long.
std::string Shortened(const std::string& text, std::size_t most = 60) {
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

// nlohmann keeps the last of two equal keys; here a duplicate key is an error.
nlohmann::json ParseStrictly(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth > kMaxDepth) {
      throw TopdownError(fmt::format(
          "{}: nested deeper than {} levels: give {{\"events\": {{...}}}}", where, kMaxDepth));
    }
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key &&
        !keys.back().insert(value.get<std::string>()).second) {
      throw TopdownError(fmt::format("{}: duplicate key '{}': keep one", where,
                                     Shortened(value.get<std::string>())));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (const nlohmann::json::exception& error) {
    std::string what = error.what();
    what = Shortened(what.substr(0, what.find('\n')), 160);
    throw TopdownError(fmt::format("{}: invalid JSON ({}): correct it there", where, what));
  }
}

RecordedCounts ParseOwnJson(const nlohmann::json& root, const std::string& where) {
  CountCollector collector;
  if (!root.contains("events") || !root["events"].is_object()) {
    throw TopdownError(fmt::format(
        "{}: no object \"events\": give {{\"events\": {{\"NAME\": count}}, \"smt\": false}}",
        where));
  }
  if (root.contains("smt")) {
    if (!root["smt"].is_boolean()) {
      throw TopdownError(fmt::format("{}: \"smt\" is not a boolean: give true or false", where));
    }
    collector.recorded().smt = root["smt"].get<bool>();
  }
  for (const auto& [name, count] : root["events"].items()) {
    std::optional<double> value;
    if (count.is_number()) {
      value = count.get<double>();
      if (!(*value >= 0 && *value <= kMaxCount)) {
        throw TopdownError(
            fmt::format("{}: the count {} of {} is negative or too large: counts are "
                        "numbers from 0 to 2^64",
                        where, Shortened(count.dump()), Shortened(name)));
      }
    } else if (!count.is_null()) {
      throw TopdownError(
          fmt::format("{}: the count of {} is not a number: give a number, or null for not counted",
                      where, Shortened(name)));
    }
    collector.Add({}, name, {.value = value});
  }
  return std::move(collector.recorded());
}

// The output of perf -j: one object per line, each with an event.
bool LooksLikePerfJson(std::string_view text) {
  return text.find("\"counter-value\"") != std::string_view::npos ||
         text.find("\"metric-value\"") != std::string_view::npos;
}

// A line of perf -j with --metric-only: {"tma_backend_bound" : "70.0", ...}
bool LooksLikeMetricsOnly(std::string_view text) {
  return text.find("\"events\"") == std::string_view::npos &&
         text.find("_bound\"") != std::string_view::npos;
}

}  // namespace

RecordedCounts ParseRecordedCounts(std::string_view text, const std::string& where) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) {
    throw TopdownError(
        fmt::format("{}: empty: give JSON, or the output of `perf stat -x,` or -j", where));
  }
  if (const std::size_t null = text.find('\0'); null != std::string_view::npos) {
    throw TopdownError(
        fmt::format("{}: offset {}: a null byte in a text file: record it again", where, null));
  }
  RecordedCounts recorded;
  if (LooksLikePerfJson(text)) {
    recorded = ParsePerfJson(text, where);
  } else if (text[start] == '{' && LooksLikeMetricsOnly(text)) {
    RefuseMetricsOnly(where);
  } else if (text[start] == '{' || text[start] == '[') {
    const nlohmann::json root = ParseStrictly(text, where);
    if (!root.is_object()) {
      throw TopdownError(fmt::format(
          "{}: not an object: give {{\"events\": {{\"NAME\": count}}, \"smt\": false}}", where));
    }
    recorded = ParseOwnJson(root, where);
  } else {
    recorded = ParsePerfCsv(text, where);
  }
  if (recorded.counts.empty() && recorded.metrics.empty()) {
    throw TopdownError(
        fmt::format("{}: contains no event: record with `perf stat -x, -e ...`", where));
  }
  return recorded;
}

RecordedCounts ReadRecordedCounts(const std::string& path) {
  const std::string text = ReadInputFile(
      path, {.most_bytes = kMaxEventFileBytes, .smaller = "record fewer intervals"},
      [&path](const std::string& why) { throw TopdownError(fmt::format("{}: {}", path, why)); });
  return ParseRecordedCounts(text, path);
}

}  // namespace topdnn
