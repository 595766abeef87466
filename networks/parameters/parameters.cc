#include "networks/parameters/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <span>
#include <string_view>

#include "kernels/tensor/setup_threads.h"

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

void DrawNormal(std::uint64_t seed, std::span<double> values) {
  std::mt19937_64 random(seed);
  // In (0, 1], because its logarithm is computed.
  const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 1.0) * 0x1p-53; };
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    values[i] = radius * std::cos(angle);
    if (i + 1 < values.size()) values[i + 1] = radius * std::sin(angle);
  }
}

// The initial scale at the end of a branch. Goyal et al. 2017, "Accurate, Large Minibatch SGD",
// section 5.1, use 0, but then the other layers of the branch have no gradients in the first step.
constexpr double kBranchScale = 0.2;

// Three standard deviations above 0, the kink of ReLU, and in the middle of ReLU6.
constexpr double kPassedShift = 3.0;
// Before a max pooling only one deviation. Otherwise every maximum would be above the kink, and the
// shift would add the same constant to all of them. The next batch normalization would remove that
// constant, and the shift's gradient would consist only of rounding errors.
constexpr double kPassedShiftOfMaxima = 1.0;
constexpr double kPassedBias = 0.5;

double ConstantOf(const Parameter& parameter, NormPlace place, ParameterDraw draw) {
  const bool ends_branch = place == NormPlace::kEndsBranch;
  if (draw == ParameterDraw::kComparison) {
    if (parameter.arg == Arg::kBias) return kPassedBias;
    if (parameter.arg == Arg::kShift && !ends_branch) {
      return place == NormPlace::kBeforeMaxPool ? kPassedShiftOfMaxima : kPassedShift;
    }
  }
  return parameter.arg == Arg::kScale && ends_branch ? kBranchScale : parameter.initial;
}

// `values` has the parameter's number of elements.
void DrawInto(std::span<double> values, std::string_view layer, const Parameter& parameter,
              std::uint64_t seed, NormPlace place, ParameterDraw draw) {
  if (parameter.fan_in == 0) {
    std::ranges::fill(values, ConstantOf(parameter, place, draw));
    return;
  }
  DrawNormal(HashOf(fmt::format("{}/{}", layer, parameter.name), seed), values);
  const double deviation = std::sqrt(2.0 / static_cast<double>(parameter.fan_in));
  for (double& value : values) value *= deviation;
}

}  // namespace

NormPlace PlaceOf(const Graph& graph, const GraphNode& node) {
  const auto only_reader = [&graph](const GraphNode& read) -> const GraphNode* {
    const std::vector<int>& readers = graph.Readers(read.output);
    return readers.size() == 1 ? &graph.nodes()[readers.front()] : nullptr;
  };
  const GraphNode* reader =
      node.op->Traits().removes_channel_constants ? only_reader(node) : nullptr;
  ValueId read = node.output;
  while (reader != nullptr && reader->op->Traits().copies_in_inference) {  // stochastic depth
    read = reader->output;
    reader = only_reader(*reader);
  }
  if (reader == nullptr) return NormPlace::kElsewhere;
  if (reader->op->Traits().source_use == SourceUse::kSum && reader->inputs.front() == read) {
    return NormPlace::kEndsBranch;
  }
  if (reader->op->Traits().source_use == SourceUse::kPositivePart) reader = only_reader(*reader);
  return reader != nullptr && reader->op->Traits().source_use == SourceUse::kMaximum
             ? NormPlace::kBeforeMaxPool
             : NormPlace::kElsewhere;
}

std::vector<double> NormalValues(std::uint64_t seed, std::size_t count) {
  std::vector<double> values(count);
  DrawNormal(seed, values);
  return values;
}

std::vector<double> DrawParameter(std::string_view layer, const Parameter& parameter,
                                  std::uint64_t seed, NormPlace place, ParameterDraw draw) {
  std::vector<double> values(static_cast<std::size_t>(parameter.shape.elements()));
  DrawInto(values, layer, parameter, seed, place, draw);
  return values;
}

void InitializeParameters(const Plan& plan, std::uint64_t seed, ParameterDraw draw) {
  const auto& parameters = plan.parameters();
  const auto elements = [&parameters](std::size_t i) {
    return static_cast<std::size_t>(parameters[i].spec.shape.elements());
  };
  // Drawing takes 8 bytes per element and thread. Parameters with more elements than this are drawn
  // by one thread.
  constexpr std::size_t kMostShared = std::size_t{4} << 20;
  std::size_t largest = 0;
  std::size_t largest_shared = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    largest = std::max(largest, elements(i));
    if (elements(i) <= kMostShared) largest_shared = std::max(largest_shared, elements(i));
  }
  const std::size_t threads = SetupThreads(parameters.size());
  // One allocation by the caller. Memory that another thread allocates and frees stays with the
  // process: malloc_trim(3) does not shrink the end of that thread's arena (glibc 2.36).
  const auto scratch =
      std::make_unique_for_overwrite<double[]>(std::max(largest, threads * largest_shared));
  const auto initialize = [&](std::size_t i, double* values) {
    const PlanParameter& parameter = parameters[i];
    DrawInto({values, elements(i)}, parameter.layer, parameter.spec, seed, parameter.place, draw);
    plan.Write(parameter.value, {values, elements(i)});
  };
  std::atomic<std::size_t> next = 0;
  OnSetupThreads(threads, [&](std::size_t thread) {
    for (std::size_t i = next++; i < parameters.size(); i = next++) {
      if (elements(i) <= kMostShared) initialize(i, &scratch[thread * largest_shared]);
    }
  });
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (elements(i) > kMostShared) initialize(i, scratch.get());
  }
  plan.PrepareParameters();
}

}  // namespace topdnn
