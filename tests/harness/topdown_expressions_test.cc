// Compares the tables with the expressions of their sources (topdown_expressions.txt) on random
// counts. The expressions are evaluated here, without the tables' code.

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

// A sum of products over numbers, names, parentheses, min, max and d_ratio (perf's division, which
// is 0 for a denominator of 0).
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
    const double a = Sum();
    if (!Take(',')) throw std::runtime_error("no comma in " + name);
    const double b = Sum();
    if (!Take(')')) throw std::runtime_error("no ) in " + name);
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

std::vector<Section> Sections() {
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/harness/topdown_expressions.txt");
  std::vector<Section> sections;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('[')) {
      const std::size_t end = line.find(']');
      sections.push_back({line.substr(1, end - 1), line.substr(end + 2), {}});
    } else if (!line.empty() && !line.starts_with('#')) {
      const std::size_t equals = line.find(" = ");
      sections.back().lines.emplace_back(line.substr(0, equals), line.substr(equals + 3));
    }
  }
  return sections;
}

// The table's events that occur in a section.
std::set<std::string> EventsOf(const Section& section, const TopdownTable& table) {
  std::set<std::string> events;
  for (const TopdownEvent& event : table.events) {
    for (const auto& [node, expression] : section.lines) {
      for (std::size_t at = expression.find(event.name); at != std::string::npos;
           at = expression.find(event.name, at + 1)) {
        const std::size_t after = at + event.name.size();
        const bool longer = after < expression.size() &&
                            (std::isalnum(static_cast<unsigned char>(expression[after])) != 0 ||
                             expression[after] == ':' || expression[after] == '_');
        if (!longer) events.insert(event.name);
      }
    }
  }
  return events;
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

TEST(TopdownExpressions, TheTablesAgreeWithTheirSources) {
  std::set<std::string> compared_nodes;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> count(1, 1e6);
  const std::vector<Section> sections = Sections();
  EXPECT_EQ(sections.size(), 26u);
  for (const Section& section : sections) {
    SCOPED_TRACE(section.cpu + ", " + section.source);
    const TopdownTable& table = FindTopdownTable(section.cpu);
    const std::set<std::string> events = EventsOf(section, table);
    std::size_t compared = 0;
    for (int round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
      Values values;
      for (const std::string& event : events) values[event] = count(random);
      const TopdownResult result = EvaluateTopdown(table, values, false);
      const Values nodes = NodesOf(result);
      for (const auto& [node, expression] : section.lines) {
        // topdnn has no negative share, and computes with the shares that it shows.
        const double value = std::max(0.0, Expression(expression, values).Value());
        values[node] = value;
        const bool defined =
            std::any_of(table.paths[0].nodes.begin(), table.paths[0].nodes.end(),
                        [&](const TopdownNode& known) { return known.name == node; });
        if (!defined) continue;
        ASSERT_TRUE(nodes.contains(node)) << node;
        EXPECT_NEAR(nodes.at(node), value, 1e-9 * std::max(1.0, value)) << node;
        compared_nodes.insert(KeyOf(table, result.path, node));
        ++compared;
      }
    }
    // Neoverse N1 has the two nodes of its stalled cycles.
    EXPECT_GE(compared, section.cpu == "neoverse_n1" ? 2000u : 3000u);
  }
  for (const TopdownTable& table : TopdownTables()) {
    for (const TopdownPath& path : table.paths) {
      for (const TopdownNode& node : path.nodes) {
        const std::string key = KeyOf(table, path.name, node.name);
        EXPECT_TRUE(compared_nodes.contains(key)) << key << " has no expression";
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
  EXPECT_THROW(Expression("1 + )", values).Value(), std::exception);
}

}  // namespace
}  // namespace topdnn
