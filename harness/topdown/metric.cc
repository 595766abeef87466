#include "harness/topdown/metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/text/registered_list.h"

namespace topdnn {

namespace {

constinit RegisteredList<TopdownTable, &TopdownTable::cpu> tables("Top-Down table of");

}  // namespace

MaybeValue operator+(const MaybeValue& a, const MaybeValue& b) {
  return a.value_ && b.value_ ? MaybeValue(*a.value_ + *b.value_) : MaybeValue();
}

MaybeValue operator-(const MaybeValue& a, const MaybeValue& b) {
  return a.value_ && b.value_ ? MaybeValue(*a.value_ - *b.value_) : MaybeValue();
}

MaybeValue operator*(const MaybeValue& a, const MaybeValue& b) {
  return a.value_ && b.value_ ? MaybeValue(*a.value_ * *b.value_) : MaybeValue();
}

MaybeValue operator/(const MaybeValue& a, const MaybeValue& b) {
  if (!a.value_ || !b.value_) return {};
  const double quotient = *a.value_ / *b.value_;
  return std::isfinite(quotient) ? MaybeValue(quotient) : MaybeValue();
}

MaybeValue TopdownCounts::operator()(std::string_view event) const {
  const auto found = counts_.find(event);
  if (found != counts_.end()) return found->second;
  missing_.emplace(event);
  return {};
}

MaybeValue TopdownCounts::Node(std::string_view name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) {
    throw std::logic_error(fmt::format("Top-Down node {} is read before it is computed", name));
  }
  return found->second ? MaybeValue(*found->second) : MaybeValue();
}

// The nodes whose refinements are evaluated. For the others, nodes from level 3 on are omitted, and
// no event is reported as missing.
using Refined = std::set<std::string_view>;

Refined AllRefined(const TopdownPath& path) {
  Refined all;
  for (const TopdownNode& node : path.nodes) {
    if (!node.refines.empty()) all.insert(node.refines);
  }
  return all;
}

// One path over one set of counts.
class TopdownEvaluation {
 public:
  TopdownEvaluation(const TopdownPath& path, const std::map<std::string, double, std::less<>>& all,
                    bool smt, const Refined& refined) {
    result_.path = path.name;
    counts_.counts_ = all;
    counts_.smt_ = smt;
    for (const TopdownNode& node : path.nodes) {
      const bool ignored = !node.refines.empty() && !refined.contains(node.refines);
      if (ignored && node.level >= 3) continue;
      const std::set<std::string> missing = counts_.missing_;
      Add(node);
      if (ignored) counts_.missing_ = missing;
    }
    result_.missing.assign(counts_.missing_.begin(), counts_.missing_.end());
  }
  int nodes_given() const { return nodes_given_; }
  const TopdownResult& result() const { return result_; }

 private:
  void Add(const TopdownNode& node) {
    std::optional<double> value = node.formula(counts_).get();
    if (value) {
      value = std::max(*value, 0.0);
      ++nodes_given_;
    }
    counts_.nodes_[node.name] = value;
    auto& level = node.level == 0   ? result_.instead
                  : node.level == 1 ? result_.level1
                  : node.level == 2 ? result_.level2
                  : node.level == 3 ? result_.level3
                                    : result_.level4;
    level.emplace_back(node.name, value);
  }

  TopdownCounts counts_;
  TopdownResult result_;
  int nodes_given_ = 0;
};

TopdownRegistration::TopdownRegistration(TopdownTable table) { tables.Add(std::move(table)); }

const std::vector<TopdownTable>& TopdownTables() { return tables.entries(); }

const TopdownTable* TopdownTableNamed(std::string_view cpu) {
  for (const TopdownTable& table : TopdownTables()) {
    const auto& alias = table.alias;
    if (table.cpu == cpu || std::find(alias.begin(), alias.end(), cpu) != alias.end()) {
      return &table;
    }
  }
  return nullptr;
}

const TopdownTable& FindTopdownTable(std::string_view cpu) {
  if (const TopdownTable* const table = TopdownTableNamed(cpu)) return *table;
  std::vector<std::string> known;
  for (const TopdownTable& table : TopdownTables()) {
    known.push_back(table.cpu);
    known.insert(known.end(), table.alias.begin(), table.alias.end());
  }
  throw TopdownError(fmt::format("no Top-Down table for the CPU '{}': use one of {}", cpu,
                                 fmt::join(known, ", ")));
}

namespace {

// The nodes whose refinements were counted: an event that only those read has a count. Cycles and
// extras show nothing, since they are also counted without a refinement.
Refined RefinedBy(const TopdownTable& table, const TopdownPath& path,
                  const std::map<std::string, double, std::less<>>& counts, bool smt) {
  std::map<std::string_view, std::vector<std::string>> reads;
  std::map<std::string, int> readers;
  const auto common = TopdownEvaluation(path, {}, smt, {}).result().missing;
  for (const std::string& name : common) readers[name] = 2;  // shared events are no evidence
  for (const std::string_view node : AllRefined(path)) {
    reads[node] = TopdownEvaluation(path, {}, smt, {node}).result().missing;
    for (const std::string& name : reads[node]) ++readers[name];
  }
  // A counted event that only one refinement reads.
  const auto is_evidence = [&](const std::string& name) {
    return counts.contains(name) && readers[name] == 1 &&
           std::none_of(table.events.begin(), table.events.end(),
                        [&](const TopdownEvent& event) {
                          return event.name == name && event.perf == "cycles";
                        }) &&
           std::none_of(table.extras.begin(), table.extras.end(),
                        [&](const ExtraEvent& extra) { return extra.event.name == name; });
  };
  Refined refined;
  for (const auto& [node, names] : reads) {
    if (std::any_of(names.begin(), names.end(), is_evidence)) refined.insert(node);
  }
  return refined;
}

}  // namespace

std::vector<std::string> EventsOfPath(const TopdownTable& table, std::size_t path, int level,
                                      bool smt) {
  TopdownPath upper = table.paths.at(path);
  std::erase_if(upper.nodes, [level](const TopdownNode& node) { return node.level > level; });
  return TopdownEvaluation(upper, {}, smt, AllRefined(upper)).result().missing;
}

namespace {

// A hypervisor that offers only the architectural events opens the others, but they stay 0. If no
// event of level 1 besides those of fixed counters and of cycles has counted, none of them is a
// count.
std::map<std::string, double, std::less<>> WithoutSilentEvents(
    const TopdownTable& table, const TopdownPath& path,
    const std::map<std::string, double, std::less<>>& counts, bool smt) {
  TopdownPath level1 = path;
  std::erase_if(level1.nodes, [](const TopdownNode& node) { return node.level != 1; });
  std::map<std::string, double, std::less<>> rest = counts;
  int silent = 0;
  const std::vector<std::string> read = TopdownEvaluation(level1, {}, smt, {}).result().missing;
  for (const std::string& name : read) {
    const auto event =
        std::find_if(table.events.begin(), table.events.end(),
                     [&](const TopdownEvent& listed) { return listed.name == name; });
    if (event == table.events.end() || event->counter == kFixedCounter) continue;
    if (name.starts_with("CPU_CLK_UNHALTED.")) continue;  // REF_XCLK is an architectural event
    const auto count = counts.find(name);
    if (count == counts.end()) continue;
    if (count->second != 0) return counts;
    ++silent;
    rest.erase(name);
  }
  return silent > 1 ? rest : counts;
}

}  // namespace

TopdownResult EvaluateTopdown(const TopdownTable& table,
                              const std::map<std::string, double, std::less<>>& counts, bool smt) {
  std::optional<TopdownEvaluation> best;
  for (const TopdownPath& path : table.paths) {
    const auto counted = WithoutSilentEvents(table, path, counts, smt);
    TopdownEvaluation evaluation(path, counted, smt, RefinedBy(table, path, counted, smt));
    // Prefers a path that gives any node, then the one that lacks the fewest events.
    const bool gives = evaluation.nodes_given() > 0;
    const bool best_gives = best && best->nodes_given() > 0;
    const bool better = !best || (gives != best_gives ? gives
                                                      : evaluation.result().missing.size() <
                                                            best->result().missing.size());
    if (better) best = std::move(evaluation);
  }
  return best ? best->result() : TopdownResult{};
}

}  // namespace topdnn
