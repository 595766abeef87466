#include "networks/parameters.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string_view>

namespace topdnn {

namespace {

// FNV-1a, so that a parameter's values do not depend on the network's other parameters.
std::uint64_t HashOf(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

std::vector<double> NormalValues(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  // In (0, 1], because its logarithm is computed.
  const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 1.0) * 0x1p-53; };
  std::vector<double> values;
  values.reserve(count + 1);
  while (values.size() < count) {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    values.push_back(radius * std::cos(angle));
    values.push_back(radius * std::sin(angle));
  }
  values.resize(count);
  return values;
}

namespace {

// Goyal et al. 2017, "Accurate, Large Minibatch SGD", section 5.1, start at 0. Then the branch
// would have no gradients in the first step.
constexpr double kBranchScale = 0.2;

// Three deviations above the kink, and in the middle of ReLU6.
constexpr double kPassedShift = 3.0;
// Before a max pooling only one deviation. Otherwise every maximum would be above the kink, and the
// shift would add the same constant to all of them. The next batch normalization would remove that
// constant, and the shift's gradient would consist only of rounding errors.
constexpr double kPassedShiftOfMaxima = 1.0;
constexpr double kPassedBias = 0.5;

std::vector<double> ConstantsOf(const Parameter& parameter, NormPlace place, ParameterDraw draw) {
  const bool ends_branch = place == NormPlace::kEndsBranch;
  const auto count = static_cast<std::size_t>(parameter.shape.elements());
  std::vector<double> values(count, parameter.initial);
  if (parameter.arg == Arg::kScale && ends_branch) {
    values.assign(count, kBranchScale);
  }
  if (draw == ParameterDraw::kTraining) return values;
  if (parameter.arg == Arg::kShift && !ends_branch) {
    values.assign(count, place == NormPlace::kBeforeMaxPool ? kPassedShiftOfMaxima : kPassedShift);
  }
  if (parameter.arg == Arg::kBias) values.assign(count, kPassedBias);
  return values;
}

}  // namespace

NormPlace PlaceOf(const Graph& graph, const GraphNode& node) {
  const auto only_reader = [&graph](const GraphNode& read) -> const GraphNode* {
    const std::vector<int> readers = graph.Readers(read.output);
    return readers.size() == 1 ? &graph.nodes()[readers.front()] : nullptr;
  };
  const GraphNode* reader = node.op->RemovesChannelConstants() ? only_reader(node) : nullptr;
  if (reader == nullptr) return NormPlace::kElsewhere;
  if (reader->op->source_use() == SourceUse::kSum && reader->inputs.front() == node.output) {
    return NormPlace::kEndsBranch;
  }
  if (reader->op->source_use() == SourceUse::kPositivePart) reader = only_reader(*reader);
  return reader != nullptr && reader->op->source_use() == SourceUse::kMaximum
             ? NormPlace::kBeforeMaxPool
             : NormPlace::kElsewhere;
}

std::vector<double> DrawParameter(std::string_view layer, const Parameter& parameter,
                                  std::uint64_t seed, NormPlace place, ParameterDraw draw) {
  if (parameter.fan_in == 0) return ConstantsOf(parameter, place, draw);
  const auto count = static_cast<std::size_t>(parameter.shape.elements());
  std::vector<double> values =
      NormalValues(HashOf(fmt::format("{}/{}", layer, parameter.name), seed), count);
  const double deviation = std::sqrt(2.0 / static_cast<double>(parameter.fan_in));
  for (double& value : values) value *= deviation;
  return values;
}

void InitializeParameters(const Plan& plan, std::uint64_t seed, ParameterDraw draw) {
  for (const PlanParameter& parameter : plan.parameters()) {
    plan.Write(parameter.value,
               DrawParameter(parameter.layer, parameter.spec, seed, parameter.place, draw));
  }
  plan.PrepareParameters();
}

}  // namespace topdnn
