#include "bench/log/read/verbose_line.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/log/read/mkldnn_line.h"
#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

constexpr std::string_view kMarkers[] = {"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"};

constexpr std::pair<std::string_view, VerboseField> kNames[] = {
    {"operation", VerboseField::kOperation},   {"engine", VerboseField::kEngine},
    {"primitive", VerboseField::kPrimitive},   {"implementation", VerboseField::kImplementation},
    {"prop_kind", VerboseField::kPropKind},    {"memory_descriptors", VerboseField::kTensors},
    {"attributes", VerboseField::kAttributes}, {"auxiliary", VerboseField::kAuxiliary},
    {"problem_desc", VerboseField::kProblem},  {"exec_time", VerboseField::kTime},
};

// More fields than any line has; a longer one is damaged.
constexpr std::size_t kMostFields = 64;

struct Fields {
  std::array<std::string_view, kMostFields> at;
  std::size_t size = 0;
  bool too_many = false;
};

Fields Split(std::string_view text) {
  Fields fields;
  for (;;) {
    const std::size_t comma = text.find(',');
    if (fields.size == kMostFields) {
      fields.too_many = true;
      return fields;
    }
    fields.at[fields.size++] = text.substr(0, comma);
    if (comma == std::string_view::npos) return fields;
    text.remove_prefix(comma + 1);
  }
}

std::optional<double> ParseTime(std::string_view text) {
  const auto value = ParseNumber<double>(text);
  return value >= 0 && std::isfinite(*value) ? value : std::nullopt;
}

// "v0", "v1", ...
bool IsVersion(std::string_view text) {
  return text.size() >= 2 && text.front() == 'v' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The first marker at or after `from`: where it begins and ends. npos if there is none.
std::pair<std::size_t, std::size_t> FindMarker(std::string_view text, std::size_t from) {
  std::size_t first = std::string_view::npos;
  std::size_t end = first;
  for (const std::string_view marker : kMarkers) {
    const std::size_t at = text.find(marker, from);
    if (at < first) {
      first = at;
      end = at + marker.size();
    }
  }
  return {first, end};
}

// The last marker of the line. A line that another process interrupts has two: only the second
// line is complete.
std::pair<std::size_t, std::size_t> LastMarker(std::string_view text, bool& several) {
  std::pair<std::size_t, std::size_t> last = FindMarker(text, 0);
  if (last.first == std::string_view::npos) return last;
  for (;;) {
    const auto next = FindMarker(text, last.second);
    if (next.first == std::string_view::npos) return last;
    several = true;
    last = next;
  }
}

void Take(std::string_view& rest, std::string_view first) {
  rest.remove_prefix(std::min(rest.size(), first.size() + 1));
}

std::string_view FirstField(std::string_view rest) { return rest.substr(0, rest.find(',')); }

bool IsAuxiliary(std::string_view field) {
  return field.starts_with("alg:") || field.starts_with("num:") || field.starts_with("axis:") ||
         field.starts_with("flags:");
}

// Lines of DNNL 1.0 have no attributes. Without them, the auxiliary field and the problem follow
// the tensors.
bool LacksAttributes(const Fields& fields, const VerboseTemplate& order) {
  constexpr std::size_t kAuxiliaryThen = 6;
  if (!order.is_default() || fields.size + 1 != order.size()) return false;
  if (IsAuxiliary(fields.at[kAuxiliaryThen])) return true;
  // (a line without its time has empty attributes there, and its problem may be one number)
  const std::string_view problem = fields.at[kAuxiliaryThen + 1];
  return fields.at[kAuxiliaryThen].empty() && !problem.empty() && !IsAuxiliary(problem) &&
         ParseTime(fields.at[fields.size - 1]);
}

// Assigns the fields by the template. Returns whether they fit.
bool Assign(const Fields& fields, const VerboseTemplate& order, VerboseLine& line) {
  if (fields.too_many) return false;
  const bool short_of_one = LacksAttributes(fields, order);
  // A primitive that this template does not describe may have more fields (the descriptions of
  // several tensors). The first and the last ones are at their places all the same.
  const bool longer = order.is_default() && fields.size > order.size();
  if (!short_of_one && !longer && fields.size != order.size()) return false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::optional<VerboseField>& field = order.fields()[i];
    if (short_of_one && field == VerboseField::kAttributes) continue;
    std::string_view text = fields.at[from++];
    if (longer && field == VerboseField::kProblem) {
      const std::string_view last = fields.at[fields.size - 2];
      text = {text.data(), static_cast<std::size_t>(last.data() + last.size() - text.data())};
      from = fields.size - 1;
    }
    if (field) line.fields[static_cast<std::size_t>(*field)] = text;
  }
  return true;
}

// MKL-DNN 1.0 has the marker of 0.x and the fields of DNNL, with the engine.
bool HasEngine(std::string_view rest) {
  Take(rest, FirstField(rest));
  const std::string_view engine = FirstField(rest);
  return engine == "cpu" || engine == "gpu";
}

// A line of MKL-DNN 0.x, which has no engine and no attributes.
void ParseMkldnn(std::string_view rest, VerboseLine& line) {
  constexpr VerboseField kOrder[] = {VerboseField::kOperation,      VerboseField::kPrimitive,
                                     VerboseField::kImplementation, VerboseField::kPropKind,
                                     VerboseField::kTensors,        VerboseField::kAuxiliary,
                                     VerboseField::kProblem,        VerboseField::kTime};
  const Fields fields = Split(rest);
  line.kind = VerboseKind::kOther;
  if (fields.at[0] != "exec") return;
  line.kind = VerboseKind::kDamaged;
  if (fields.size != std::size(kOrder)) return;
  for (std::size_t i = 0; i < std::size(kOrder); ++i) {
    line.fields[static_cast<std::size_t>(kOrder[i])] = fields.at[i];
  }
  line.fields[static_cast<std::size_t>(VerboseField::kEngine)] = "cpu";
  const auto milliseconds = ParseTime(line[VerboseField::kTime]);
  if (!milliseconds || line[VerboseField::kPrimitive].empty()) return;
  line.seconds = *milliseconds * 1e-3;
  line.kind = VerboseKind::kExec;
}

// Guides print lines without the last field, the time. The problem may be one whole number.
bool AssignWithoutTime(Fields fields, const VerboseTemplate& order, VerboseLine& line) {
  if (!order.is_default() || fields.too_many || fields.size + 1 != order.size() ||
      fields.at[0] != "exec") {
    return false;
  }
  const std::string_view last = fields.at[fields.size - 1];
  const bool whole = last.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole && ParseTime(last)) return false;
  fields.at[fields.size++] = "";
  return Assign(fields, order, line) && !line[VerboseField::kProblem].empty();
}

void ParseEvent(std::string_view rest, const VerboseTemplate& order, VerboseLine& line) {
  line.kind = VerboseKind::kDamaged;
  const std::string_view first = FirstField(rest);
  // Events that are not timed have other fields.
  const auto untimed = [](std::string_view operation) {
    if (operation == "exec" || operation.starts_with("create:cache_")) return false;
    return operation.find("check") != std::string_view::npos ||
           operation.find("dispatch") != std::string_view::npos ||
           operation.find("error") != std::string_view::npos ||
           operation.find("warn") != std::string_view::npos || operation.ends_with(":start") ||
           operation.starts_with("debuginfo");
  };
  if (untimed(first)) {
    line.kind = VerboseKind::kOther;
    return;
  }
  const Fields split = Split(rest);
  if (!Assign(split, order, line)) {
    if (AssignWithoutTime(split, order, line)) line.kind = VerboseKind::kUntimed;
    return;
  }
  const std::string_view operation = line[VerboseField::kOperation];
  if (untimed(operation)) {
    line.kind = VerboseKind::kOther;
    return;
  }
  const auto milliseconds = ParseTime(line[VerboseField::kTime]);
  if (!milliseconds || line[VerboseField::kPrimitive].empty()) return;
  line.seconds = *milliseconds * 1e-3;
  if (operation == "exec") {
    line.kind = VerboseKind::kExec;
  } else if (operation.starts_with("create")) {
    line.kind = VerboseKind::kCreate;
    line.nested = operation.find("nested") != std::string_view::npos;
  } else if (operation.starts_with("exec")) {
    line.kind = VerboseKind::kOther;  // part of another execution
  }
}

bool IsInfo(std::string_view rest, VerboseLine& line) {
  if (FirstField(rest) != "info") return false;
  line.kind = VerboseKind::kInfo;
  Take(rest, "info");
  line.rest = rest;
  for (const std::string_view name : {"prim_template:", "template:"}) {
    if (!rest.starts_with(name)) continue;
    line.kind = VerboseKind::kTemplate;
    line.rest = rest.substr(name.size());
  }
  return true;
}

}  // namespace

VerboseTemplate::VerboseTemplate() {
  fields_.reserve(std::size(kNames));
  for (const auto& [name, field] : kNames) fields_.emplace_back(field);
}

std::optional<VerboseTemplate> VerboseTemplate::Parse(std::string_view names) {
  const Fields split = Split(names);
  if (split.too_many) return std::nullopt;
  VerboseTemplate result;
  result.fields_.clear();
  std::array<bool, kVerboseFields> seen{};
  for (std::size_t i = 0; i < split.size; ++i) {
    // (the line has the time stamp at another place, before the API's name)
    if (split.at[i] == "timestamp") continue;
    std::optional<VerboseField> field;
    for (const auto& [name, known] : kNames) {
      if (split.at[i] == name) field = known;
    }
    if (field && std::exchange(seen[static_cast<std::size_t>(*field)], true)) return std::nullopt;
    result.fields_.push_back(field);
  }
  if (!std::all_of(seen.begin(), seen.end(), [](bool b) { return b; })) return std::nullopt;
  result.is_default_ = result.fields_ == VerboseTemplate().fields_;
  return result;
}

std::string VerboseLine::Dialect() const {
  std::string text(marker);
  if (!version.empty()) text.append(",").append(version);
  if (names_api) text += ",primitive";
  return text;
}

VerboseLine ParseVerboseLine(std::string_view text, const VerboseTemplate& order) {
  VerboseLine line;
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const auto [begin, end] = LastMarker(text, line.interleaved);
  if (begin == std::string_view::npos) return line;
  line.marker = text.substr(begin, end - begin - 1);
  std::string_view rest = text.substr(end);
  if (const std::string_view version = FirstField(rest); IsVersion(version)) {
    line.version = version;
    Take(rest, version);
  }
  if (const std::string_view stamp = FirstField(rest); const auto milliseconds = ParseTime(stamp)) {
    line.stamp = *milliseconds * 1e-3;
    Take(rest, stamp);
  }
  if (IsInfo(rest, line)) return line;
  if (line.marker == kMkldnnMarker && !HasEngine(rest)) {
    line.has_formats = true;
    ParseMkldnn(rest, line);
    return line;
  }
  const std::string_view component = FirstField(rest);
  if (component == "graph") {
    line.kind = VerboseKind::kGraph;
    return line;
  }
  if (component == "common" || component == "ukernel" || component == "gemm_api" ||
      component == "error" || component == "warn") {
    line.kind = VerboseKind::kOther;
    return line;
  }
  if (component == "primitive") {
    line.names_api = true;
    Take(rest, component);
    if (IsInfo(rest, line)) return line;
  }
  ParseEvent(rest, order, line);
  return line;
}

}  // namespace topdnn
