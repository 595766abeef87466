#include "harness/report/html/stage_columns.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/report/html/json_parts.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTexts[] = {"name",
                                  "op",
                                  "pass",
                                  "regime",
                                  "backend",
                                  "implementation",
                                  "isa",
                                  "status",
                                  "reason",
                                  "ceiling",
                                  "ceiling_status",
                                  "ceiling_reason",
                                  "counts_reason",
                                  "topdown_bounds_reason",
                                  "topdown_experiment_reason",
                                  "tree_reason",
                                  "bound_by_reason"};
constexpr const char* kNumbers[] = {
    "flops",          "flops_counted",      "bytes",           "gflops", "peak_fraction",
    "ceiling_gflops", "dram_gb_per_second", "running_fraction"};
constexpr const char* kNodes[] = {"tree", "topdown", "topdown_bounds", "topdown_experiment"};

// Gives each text an index.
class Texts {
 public:
  Json IndexOf(const Json& text) {
    if (!text.is_string()) return nullptr;
    const auto [entry, added] = indices_.emplace(text.get<std::string>(), indices_.size());
    if (added) list_.push_back(text);
    return entry->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> indices_;
  Json list_ = Json::array();
};

Json NumberOf(const Json& value) { return value.is_number() ? Rounded(value) : Json(nullptr); }

bool HasValues(const Json& column) {
  return std::any_of(column.begin(), column.end(), [](const Json& v) { return !v.is_null(); });
}

template <class Cell>
Json Column(const Json& stages, const Cell& cell) {
  Json column = Json::array();
  for (const Json& stage : stages) column.push_back(cell(stage));
  return column;
}

Json SummaryArray(const Json& seconds) {
  if (!seconds.is_object()) return nullptr;
  Json time = Json::array();
  for (const char* key : {"median", "min", "p90", "n"}) {
    time.push_back(NumberOf(MemberOrNull(seconds, key)));
  }
  return time;
}

// The names of the members of all objects, in the order of their first occurrence.
std::vector<std::string> NamesIn(const Json& stages, const char* key) {
  std::vector<std::string> names;
  for (const Json& stage : stages) {
    const Json& object = MemberOrNull(stage, key);
    if (!object.is_object()) continue;
    for (const auto& [name, value] : object.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// A number, an interval [low, high], or null. The nodes of a tree are {"low", "high", ...}.
Json ShareOf(const Json& value) {
  if (value.is_number() || value.is_array()) return Rounded(value);
  if (!value.is_object()) return nullptr;
  return {NumberOf(MemberOrNull(value, "low")), NumberOf(MemberOrNull(value, "high"))};
}

// {"names", "rows"}; null without rows.
Json RowsOf(const Json& stages, const char* key, const std::vector<std::string>& names) {
  Json rows = Column(stages, [&](const Json& stage) {
    const Json& object = MemberOrNull(stage, key);
    if (!object.is_object()) return Json(nullptr);
    Json row = Json::array();
    for (const std::string& name : names) {
      row.push_back(ShareOf(MemberOrNull(object, name.c_str())));
    }
    return row;
  });
  if (!HasValues(rows)) return nullptr;
  return {{"names", names}, {"rows", rows}};
}

// The basis of each node's interval, from the first stage that has one. That of a tree's node is
// its provenance.
Json BasisOf(const Json& stages, const char* key) {
  Json basis;
  for (const Json& stage : stages) {
    const Json& tree = MemberOrNull(stage, key);
    if (!tree.is_object()) continue;
    for (const auto& [name, node] : tree.items()) {
      if (!node.is_object() || basis.contains(name)) continue;
      basis[name] = MemberOrNull(node, "provenance");
    }
  }
  for (const Json& stage : stages) {
    const Json& object = MemberOrNull(stage, (std::string(key) + "_basis").c_str());
    if (!object.is_object()) continue;
    for (const auto& [name, text] : object.items()) {
      if (text.is_string() && !basis.contains(name)) basis[name] = text;
    }
  }
  return basis;
}

bool IsZeroEverywhere(const Json& stages, const char* key, const std::string& name) {
  return std::all_of(stages.begin(), stages.end(), [&](const Json& stage) {
    const Json& value = MemberOrNull(MemberOrNull(stage, key), name.c_str());
    return value.is_null() || (value.is_number() && value.get<double>() == 0);
  });
}

Json EventsOf(const Json& stages) {
  std::vector<std::string> names = NamesIn(stages, "events");
  std::erase_if(names,
                [&](const std::string& name) { return IsZeroEverywhere(stages, "events", name); });
  return RowsOf(stages, "events", names);
}

Json RooflineOf(const Json& roofline, Texts& texts) {
  if (!roofline.is_object()) return nullptr;
  const Json& attainable = MemberOrNull(roofline, "attainable");
  return {NumberOf(MemberOrNull(roofline, "flops_per_second")),
          NumberOf(MemberOrNull(roofline, "l1_intensity")),
          NumberOf(MemberOrNull(roofline, "dram_intensity")),
          NumberOf(MemberOrNull(attainable, "flops_per_second")),
          texts.IndexOf(MemberOrNull(attainable, "name"))};
}

// The loops with a listing (--hot), null without.
Json LoopsOf(const Json& hot) {
  Json loops = Json::array();
  if (!hot.is_object()) return nullptr;
  for (const Json& loop : ObjectsIn(hot, "loops")) {
    if (TextsIn(loop, "listing").empty()) continue;
    loops.push_back(
        Members(loop,
                "place instruction_share flop_share iterations instructions flops loads stores"
                " spills cycles bound_by bound_by_reason listing"));
  }
  return loops.empty() ? Json(nullptr) : loops;
}

// The times of the record's own regime and, if they were measured, of each regime.
Json TimesOf(const Json& stages) {
  Json times = {{"seconds", Column(stages, [](const Json& stage) {
                   return SummaryArray(MemberOrNull(stage, "seconds"));
                 })}};
  for (const std::string& regime : NamesIn(stages, "seconds_by_regime")) {
    times[regime] = Column(stages, [&](const Json& stage) {
      return SummaryArray(MemberOrNull(MemberOrNull(stage, "seconds_by_regime"), regime.c_str()));
    });
  }
  return times;
}

}  // namespace

Json StageColumns(const Json& stages) {
  Texts texts;
  Json columns = {{"count", stages.size()}, {"texts", nullptr}};
  for (const char* key : kTexts) {
    Json column =
        Column(stages, [&](const Json& stage) { return texts.IndexOf(MemberOrNull(stage, key)); });
    if (HasValues(column)) columns["text"][key] = std::move(column);
  }
  Json bound_by = Column(stages, [&](const Json& stage) {
    return texts.IndexOf(MemberOrNull(MemberOrNull(stage, "bound_by"), "text"));
  });
  if (HasValues(bound_by)) columns["text"]["bound_by"] = std::move(bound_by);
  for (const char* key : kNumbers) {
    Json column =
        Column(stages, [&](const Json& stage) { return NumberOf(MemberOrNull(stage, key)); });
    if (HasValues(column)) columns["number"][key] = std::move(column);
  }
  columns["time"] = TimesOf(stages);
  for (const char* key : kNodes) {
    Json rows = RowsOf(stages, key, NamesIn(stages, key));
    if (rows.is_null()) continue;
    if (Json basis = BasisOf(stages, key); !basis.is_null()) rows["basis"] = std::move(basis);
    columns["nodes"][key] = std::move(rows);
  }
  Json rooflines = Column(stages, [&](const Json& stage) {
    return RooflineOf(MemberOrNull(stage, "roofline"), texts);
  });
  if (HasValues(rooflines)) columns["roofline"] = std::move(rooflines);
  if (Json events = EventsOf(stages); !events.is_null()) columns["events"] = std::move(events);
  Json hot = Column(stages, [](const Json& stage) { return LoopsOf(MemberOrNull(stage, "hot")); });
  if (HasValues(hot)) columns["hot"] = std::move(hot);
  columns["texts"] = texts.list();
  return columns;
}

}  // namespace topdnn
