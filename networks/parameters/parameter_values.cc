#include "networks/parameters/parameter_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "networks/parameters/parameters.h"

namespace topdnn {

namespace {

struct Expected {
  Shape shape;
  bool required;
};

// The running statistics that inference reads: mean and variance of a batch normalization.
std::vector<Operand> StatisticsOf(const Op& op) {
  std::vector<Operand> statistics;
  for (const Operand& operand : op.Operands({.pass = Pass::kForward, .training = false})) {
    if (operand.arg == Arg::kMean || operand.arg == Arg::kVariance) statistics.push_back(operand);
  }
  return statistics;
}

// All parameters and statistics of the graph, by key.
std::map<std::string, Expected> ExpectedValues(const Graph& graph) {
  std::map<std::string, Expected> expected;
  for (const GraphNode& node : graph.nodes()) {
    for (const Parameter& parameter : node.op->Parameters()) {
      expected[ParameterKey(node.name, parameter.name)] = {parameter.shape, true};
    }
    for (const Operand& statistic : StatisticsOf(*node.op)) {
      expected[ParameterKey(node.name, NameOf(statistic.arg))] = {statistic.shape, false};
    }
  }
  return expected;
}

// Adds "3 missing: a, b, c" to the report, with at most the first kMaxNamed names.
void Report(std::string_view what, const std::vector<std::string>& names, std::string& report) {
  if (names.empty()) return;
  constexpr std::size_t kMaxNamed = 8;
  const std::vector<std::string> first(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNamed)));
  report += fmt::format("{}{} {}: {}{}", report.empty() ? "" : "; ", names.size(), what,
                        fmt::join(first, ", "), names.size() > kMaxNamed ? ", ..." : "");
}

Tensor TensorOf(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(shape);
  FromDouble(values, tensor.desc(), tensor.data());
  return tensor;
}

}  // namespace

std::string ParameterKey(std::string_view layer, std::string_view parameter) {
  return fmt::format("{}/{}", layer, parameter);
}

ParameterValues DrawnParameters(const Graph& graph, std::uint64_t seed) {
  ParameterValues values;
  for (const GraphNode& node : graph.nodes()) {
    for (const Parameter& parameter : node.op->Parameters()) {
      values[ParameterKey(node.name, parameter.name)] = TensorOf(
          parameter.shape, DrawParameter(node.name, parameter, seed, PlaceOf(graph, node)));
    }
    for (const Operand& statistic : StatisticsOf(*node.op)) {
      const auto elements = static_cast<std::size_t>(statistic.shape.elements());
      const double start = statistic.arg == Arg::kVariance ? 1.0 : 0.0;
      values[ParameterKey(node.name, NameOf(statistic.arg))] =
          TensorOf(statistic.shape, std::vector<double>(elements, start));
    }
  }
  return values;
}

void CheckParameterShapes(const Graph& graph, const std::map<std::string, Shape>& shapes) {
  std::vector<std::string> missing, wrong, foreign;
  const auto expected = ExpectedValues(graph);
  for (const auto& [key, value] : expected) {
    const auto found = shapes.find(key);
    if (found == shapes.end()) {
      if (value.required) missing.push_back(key);
    } else if (found->second != value.shape) {
      wrong.push_back(
          fmt::format("{} is {}, not {}", key, found->second.ToString(), value.shape.ToString()));
    }
  }
  for (const auto& [key, shape] : shapes) {
    if (expected.count(key) == 0) foreign.push_back(key);
  }
  std::string report;
  Report("of another shape", wrong, report);
  Report("missing", missing, report);
  Report("that the network lacks", foreign, report);
  if (!report.empty()) {
    throw ParameterError(
        fmt::format("weights do not fit {}: {}; names are LAYER/PARAMETER, as "
                    "`topdnn step --dump` writes them",
                    graph.name(), report));
  }
}

void CheckParameters(const Graph& graph, const ParameterValues& values) {
  std::map<std::string, Shape> shapes;
  for (const auto& [key, value] : values) shapes.emplace(key, value.shape());
  CheckParameterShapes(graph, shapes);
  for (const auto& [key, value] : values) {
    const auto* elements = value.as<float>();
    const bool is_variance = key.ends_with("/variance");
    const std::int64_t count = value.shape().elements();
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isfinite(elements[i]) && !(is_variance && elements[i] < 0)) continue;
      throw ParameterError(
          fmt::format("{} has {} at element {}: give {} values", key,
                      std::isnan(elements[i]) ? std::abs(elements[i]) : elements[i], i,
                      is_variance ? "finite, non-negative" : "finite"));
    }
  }
}

namespace {

// Calls `visit` with the key and the buffer of each parameter and statistic.
template <typename Visit>
void ForEach(const Plan& plan, const Visit& visit) {
  for (const PlanParameter& parameter : plan.parameters()) {
    visit(ParameterKey(parameter.layer, parameter.spec.name), parameter.value);
  }
  for (const PlanStatistic& statistic : plan.statistics()) {
    visit(ParameterKey(statistic.layer, statistic.name), statistic.buffer);
  }
}

// Writes a value, and frees it.
void WriteAndFree(const Plan& plan, const std::string& key, BufferId buffer,
                  ParameterValues& values) {
  const auto value = values.extract(key);
  if (!value.empty()) plan.Write(buffer, value.mapped());
}

// The buffers whose values `layer` has in another form. Its kernel reads none of them.
std::vector<BufferId> SourcesOf(const PreparedParameters& layer) {
  std::vector<BufferId> sources = {layer.weights};
  if (layer.prepared_bias >= 0 && layer.bias >= 0) sources.push_back(layer.bias);
  if (layer.norm) {
    const PreparedParameters::Norm& norm = *layer.norm;
    for (const BufferId value : {norm.scale, norm.shift, norm.mean, norm.variance}) {
      if (value >= 0) sources.push_back(value);
    }
  }
  return sources;
}

}  // namespace

void WriteParameters(const Plan& plan, const ParameterValues& values) {
  ForEach(plan, [&](const std::string& key, BufferId buffer) {
    const auto found = values.find(key);
    if (found != values.end()) plan.Write(buffer, found->second);
  });
  plan.PrepareParameters();
}

void TakeParameters(Plan& plan, ParameterValues values) {
  ForEach(plan, [&](const std::string& key, BufferId buffer) {
    WriteAndFree(plan, key, buffer, values);
  });
  plan.PrepareParameters();
}

void PrepareOnly(Plan& plan, ParameterValues values) {
  std::map<BufferId, std::string> keys;
  ForEach(plan, [&](const std::string& key, BufferId buffer) { keys.emplace(buffer, key); });
  std::set<BufferId> omitted;
  for (const PreparedParameters& layer : plan.prepared()) {
    for (const BufferId source : SourcesOf(layer)) {
      // (a buffer of another type would round the values first)
      const auto key = keys.find(source);
      const bool is_given = key != keys.end() && values.contains(key->second);
      if (is_given && plan.buffers()[source].desc.type == DataType::kF32) omitted.insert(source);
    }
  }
  for (const auto& [buffer, key] : keys) {
    if (omitted.contains(buffer)) {
      plan.Omit(buffer);
    } else {
      WriteAndFree(plan, key, buffer, values);
    }
  }
  const auto given = [&](BufferId buffer) -> std::span<const float> {
    return omitted.contains(buffer) ? values.at(keys.at(buffer)).values<float>()
                                    : std::span<const float>();
  };
  std::size_t freed = 0;
  plan.PrepareLayers(given, [&](const PreparedParameters& layer) {
    for (const BufferId source : SourcesOf(layer)) {
      if (!omitted.contains(source)) continue;
      // (The map itself stays as it is, because other threads search it.)
      Tensor& value = values.at(keys.at(source));
      freed += value.desc().bytes();
      value = Tensor();
    }
    constexpr std::size_t kTrimmed = std::size_t{8} << 20;
    if (freed < kTrimmed) return;
    malloc_trim(0);  // without it, glibc keeps what was freed between other blocks
    freed = 0;
  });
  plan.LoadPluginWeights();
}

}  // namespace topdnn
