// Compares every node of the tables with the expression of its source (topdown_expressions_*.txt)
// on random counts. The expressions are evaluated here, without the tables' code.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {
namespace {

using Values = std::map<std::string, double, std::less<>>;

// A sum of products over numbers, names, parentheses, min, max, d_ratio (perf's division, which is
// 0 for a denominator of 0) and if_above (a value, a limit, the result above it, the result else).
class Expression {
 public:
  Expression(std::string_view text, const Values& values) : text_(text), values_(values) {}

  double Value() {
    const double value = Sum();
    if (position_ < text_.size()) throw std::runtime_error("rest: " + std::string(Rest()));
    return value;
  }

 private:
  std::string_view Rest() const { return text_.substr(position_); }

  bool Take(char wanted) {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  double Sum() {
    double sum = Product();
    while (true) {
      if (Take('+')) {
        sum += Product();
      } else if (Take('-')) {
        sum -= Product();
      } else {
        return sum;
      }
    }
  }

  double Product() {
    double product = Factor();
    while (true) {
      if (Take('*')) {
        product *= Factor();
      } else if (Take('/')) {
        product /= Factor();
      } else {
        return product;
      }
    }
  }

  double Factor() {
    if (Take('(')) {
      const double value = Sum();
      if (!Take(')')) throw std::runtime_error("no ) before " + std::string(Rest()));
      return value;
    }
    std::size_t length = 0;
    while (position_ + length < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_ + length])) != 0 ||
            std::string_view("._:").find(text_[position_ + length]) != std::string_view::npos)) {
      ++length;
    }
    const std::string word(text_.substr(position_, length));
    position_ += length;
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && end == word.data() + word.size()) return number;
    if (Take('(')) return Function(word);
    return values_.at(word);
  }

  double Function(const std::string& name) {
    std::vector<double> values{Sum()};
    while (Take(',')) values.push_back(Sum());
    if (!Take(')')) throw std::runtime_error("no ) in " + name);
    if (name == "if_above" && values.size() == 4) {
      return values[0] > values[1] ? values[2] : values[3];
    }
    if (values.size() != 2) throw std::runtime_error("no two values in " + name);
    const double a = values[0], b = values[1];
    if (name == "min") return std::min(a, b);
    if (name == "max") return std::max(a, b);
    if (name == "d_ratio") return b == 0 ? 0 : a / b;
    throw std::runtime_error("no function " + name);
  }

  std::string_view text_;
  const Values& values_;
  std::size_t position_ = 0;
};

struct Section {
  std::string cpu, source;
  std::vector<std::pair<std::string, std::string>> lines;  // node, expression
};

// A section is "[CPU] source", then lines "NODE = EXPRESSION", in which events have topdnn's names.
// Another name is a metric that was defined above in the same section, or SMT, which is 1 if the
// core's other hardware thread works and 0 otherwise. A node's second expression is for counts
// without PERF_METRICS. Values are fractions, where the source has percent. A source with "one
// thread of the core" has no expressions for two.
std::vector<Section> Sections() {
  std::vector<Section> sections;
  for (const std::string part : {"amd", "arm", "intel_clients", "intel_servers"}) {
    std::ifstream file(TOPDNN_SOURCE_DIR "/tests/harness/topdown_expressions_" + part + ".txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('[')) {
        const std::size_t end = line.find(']');
        sections.push_back({line.substr(1, end - 1), line.substr(end + 2), {}});
      } else if (!line.empty() && !line.starts_with('#')) {
        const std::size_t equals = line.find(" = ");
        sections.back().lines.emplace_back(line.substr(0, equals), line.substr(equals + 3));
      }
    }
  }
  return sections;
}

// Nodes for which no source has an expression.
struct Unpublished {
  std::string cpu;
  std::vector<std::string> nodes;
  std::string reason;
};

const std::vector<Unpublished>& UnpublishedNodes() {
  const std::string estimate = "our estimate: the source has no level 2";
  static const std::vector<Unpublished> nodes = {
      {"neoverse_n1",
       {"Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring"},
       "always null: the core counts no slots"},
      {"neoverse_n2", {"Memory_Bound", "Core_Bound"}, estimate},
      {"neoverse_n2_r0p0", {"Memory_Bound", "Core_Bound"}, estimate},
      {"neoverse_v1", {"Memory_Bound", "Core_Bound"}, estimate},
      {"neoverse_v2", {"Memory_Bound", "Core_Bound"}, estimate}};
  return nodes;
}

// Random counts of all events, or of all but those of the PERF_METRICS register.
Values RandomCounts(const TopdownTable& table, bool perf_metrics, std::mt19937_64& random) {
  std::uniform_real_distribution<double> count(1, 1e6);
  Values counts;
  for (const TopdownEvent& event : table.events) {
    const double value = count(random);
    if (perf_metrics || !event.name.starts_with("PERF_METRICS.")) counts[event.name] = value;
  }
  return counts;
}

Values NodesOf(const TopdownResult& result) {
  Values nodes;
  for (const auto* level :
       {&result.level1, &result.level2, &result.level3, &result.level4, &result.instead}) {
    for (const auto& [name, value] : *level) {
      if (value) nodes[name] = *value;
    }
  }
  return nodes;
}

// A node of a table's path, as "TABLE, PATH: NODE".
std::string KeyOf(const TopdownTable& table, const std::string& path, const std::string& node) {
  return table.cpu + ", " + path + ": " + node;
}

bool IsNode(const TopdownTable& table, const std::string& name) {
  const std::vector<TopdownNode>& nodes = table.paths.front().nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const TopdownNode& node) { return node.name == name; });
}

// The table's nodes by the expressions of a section. `values`: of the names that are known before;
// only without PERF_METRICS may an expression read another one, and is then skipped.
Values NodesOf(const Section& section, const TopdownTable& table, Values values,
               bool perf_metrics) {
  Values nodes;
  for (const auto& [name, expression] : section.lines) {
    if (values.contains(name)) continue;
    try {
      const double value = Expression(expression, values).Value();
      // topdnn has no negative share, and computes with the shares that it shows.
      values[name] = IsNode(table, name) ? std::max(0.0, value) : value;
      if (IsNode(table, name)) nodes[name] = values[name];
    } catch (const std::out_of_range&) {
      EXPECT_FALSE(perf_metrics) << name << " reads an unknown name";
    }
  }
  return nodes;
}

TEST(TopdownExpressions, TheTablesAgreeWithTheirSources) {
  std::set<std::string> compared;
  std::mt19937_64 random(5);
  const std::vector<Section> sections = Sections();
  EXPECT_EQ(sections.size(), 29u);
  for (const Section& section : sections) {
    SCOPED_TRACE(section.cpu + ", " + section.source);
    const TopdownTable& table = FindTopdownTable(section.cpu);
    const bool one_thread = section.source.find("one thread of the core") != std::string::npos;
    for (int round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
      const bool smt = round % 2 == 1 && !one_thread;
      const bool perf_metrics = round % 4 < 2;
      Values values = RandomCounts(table, perf_metrics, random);
      const TopdownResult result = EvaluateTopdown(table, values, smt);
      EXPECT_EQ(result.path, (perf_metrics ? table.paths.front() : table.paths.back()).name);
      const Values nodes = NodesOf(result);
      values["SMT"] = smt ? 1 : 0;
      for (const auto& [node, value] : NodesOf(section, table, values, perf_metrics)) {
        ASSERT_TRUE(nodes.contains(node)) << node;
        EXPECT_NEAR(nodes.at(node), value, 1e-9 * std::max(1.0, value)) << node;
        if (value > 0) compared.insert(KeyOf(table, result.path, node));
      }
    }
  }
  if (HasFailure()) return;
  std::map<std::string, std::string> reasons;
  for (const Unpublished& unpublished : UnpublishedNodes()) {
    const TopdownTable& table = FindTopdownTable(unpublished.cpu);
    for (const std::string& node : unpublished.nodes) {
      reasons[KeyOf(table, table.paths[0].name, node)] = unpublished.reason;
    }
  }
  for (const TopdownTable& table : TopdownTables()) {
    for (const TopdownPath& path : table.paths) {
      for (const TopdownNode& node : path.nodes) {
        const std::string key = KeyOf(table, path.name, node.name);
        const auto unpublished = reasons.find(key);
        if (unpublished == reasons.end()) {
          EXPECT_TRUE(compared.contains(key)) << key << " has no expression";
        } else {
          EXPECT_FALSE(compared.contains(key)) << key << " is not " << unpublished->second;
        }
      }
    }
  }
}

TEST(TopdownExpressions, EveryTableHasASource) {
  const std::vector<Section> sections = Sections();
  for (const TopdownTable& table : TopdownTables()) {
    EXPECT_TRUE(std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
      return &FindTopdownTable(section.cpu) == &table;
    })) << table.cpu;
  }
}

TEST(TopdownExpressions, TheEvaluatorComputesByTheUsualRules) {
  const Values values = {{"a.b", 3}, {"C:c8", 4}};
  EXPECT_EQ(Expression("1 + 2 * a.b - (4 - 2) / C:c8", values).Value(), 6.5);
  EXPECT_EQ(Expression("d_ratio(a.b, 0) + max(0, 1 - C:c8) + min(a.b, 7)", values).Value(), 3);
  EXPECT_EQ(Expression("if_above(a.b, 3, 1, 2) + if_above(a.b, 2, 10, 20)", values).Value(), 12);
  EXPECT_THROW(Expression("1 + )", values).Value(), std::exception);
}

}  // namespace
}  // namespace topdnn
