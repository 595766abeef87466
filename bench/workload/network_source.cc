#include "bench/workload/network_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/nearest.h"
#include "bench/workload/weights.h"
#include "harness/files/input_file.h"
#include "harness/text/one_line.h"
#include "networks/graph/zoo.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

namespace {

void CheckSizes(const NetworkRequest& request) {
  for (const auto& [name, value] :
       {std::pair("--size", request.size), std::pair("--classes", request.classes)}) {
    if (value < 0) throw UsageError(fmt::format("{} {}: must be 1 or more", name, value));
  }
}

NetworkSource OpenOnnx(const NetworkRequest& request) {
  if (request.classes != 0) {
    throw UsageError(fmt::format("{} has its own classes: leave --classes out", request.network));
  }
  CheckSizes(request);
  ImportOptions options;
  options.name = OneLine(std::filesystem::path(request.network).stem().string());
  options.shapes = request.input_shapes;
  options.shapes_of_all = request.inputs_are_given;
  options.outputs = request.outputs;
  options.batch = request.batch;
  options.open_batch = request.default_batch;
  if (request.size != 0) options.open_size = request.size;
  options.drop_final_softmax = request.training;
  const std::string folder = std::filesystem::path(request.network).parent_path().string();
  options.folder = folder.empty() ? "." : folder;
  options.memory_limit = request.memory_limit;
  try {
    const OpenInputFile file(request.network, [&request](const std::string& why) {
      throw UsageError(fmt::format("{}: {}", request.network, why));
    });
    if (!file.bytes()) {
      throw UsageError(fmt::format("{} is a pipe; save it as a file", request.network));
    }
    ImportedNetwork network = ImportOnnxFile(file.fd(), *file.bytes(), options);
    if (request.training && IsQuantized(network.graph)) {
      throw UsageError(
          fmt::format("{} is quantized, and topdnn trains in floating point: give --infer, or the "
                      "float network",
                      request.network));
    }
    if (request.training && !network.computed_parameters.empty()) {
      const auto& [layer, node] = *network.computed_parameters.begin();
      throw UsageError(fmt::format(
          "{}: the weights of layer {} are computed from other constants, by {}: training would "
          "change the result instead of those; give --infer, or a network with plain weights",
          request.network, layer, node));
    }
    NetworkSource source{std::move(network.graph), std::move(network.parameters),
                         std::move(network.inputs)};
    for (ImportedOutput& output : network.outputs) {
      source.outputs.push_back({std::move(output.name), std::move(output.shape), output.type});
    }
    return source;
  } catch (const OnnxError& error) {
    throw UsageError(fmt::format("{}: {}", request.network, error.what()));
  }
}

// The shape of the only input of a zoo network, if it is given.
std::optional<Shape> ShapeOfInput(const NetworkRequest& request) {
  if (!request.outputs.empty()) {
    throw UsageError(fmt::format("{} has one output: leave --onnx-output out", request.network));
  }
  for (const auto& [name, shape] : request.input_shapes) {
    if (name == "input") continue;
    throw UsageError(fmt::format("{} has no input {}: its input is named input", request.network,
                                 OneLine(name)));
  }
  if (request.input_shapes.empty()) return std::nullopt;
  return request.input_shapes.begin()->second;
}

NetworkSource OpenZoo(const NetworkRequest& request) {
  const NetworkOffer* offer = FindNetwork(request.network);
  if (offer == nullptr) {
    std::vector<std::string> names;
    for (const NetworkOffer& network : Networks()) names.push_back(network.FullName());
    const std::string nearest = NearestName(request.network, names);
    throw UsageError(fmt::format(
        "no network '{}'{}; there are: {}, or give a FILE.onnx", request.network,
        nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest), fmt::join(names, " ")));
  }
  CheckSizes(request);
  NetworkSize size{request.batch.value_or(request.default_batch), offer->image, offer->classes};
  if (request.size != 0) size.image = {offer->image[0], request.size, request.size};
  if (request.classes != 0) size.classes = request.classes;
  if (const std::optional<Shape> given = ShapeOfInput(request)) {
    const Shape& input = *given;
    if (request.batch && *request.batch != input[0]) {
      throw UsageError(fmt::format("--batch {}: the input is given as {}; leave --batch out",
                                   *request.batch, input.ToString()));
    }
    if (input.rank() != 4 || input[1] != offer->image[0]) {
      throw UsageError(fmt::format("{} takes images (N, {}, H, W), not {}", request.network,
                                   offer->image[0], input.ToString()));
    }
    if (request.size != 0 && (input[2] != request.size || input[3] != request.size)) {
      throw UsageError(fmt::format("--size {}: the input is given as {}; leave --size out",
                                   request.size, input.ToString()));
    }
    size.batch = input[0];
    size.image = Shape{input[1], input[2], input[3]};
  }
  // Checks the input first, so that an impossible batch does not reach the libraries.
  const Shape input{size.batch, size.image[0], size.image[1], size.image[2]};
  if (request.memory_limit != 0 &&
      input.elements() > static_cast<std::int64_t>(request.memory_limit / sizeof(float))) {
    throw UsageError(
        fmt::format("--batch {}: an input of {} does not fit the memory that may be "
                    "used; take a smaller --batch",
                    size.batch, input.ToString()));
  }
  try {
    NetworkSource source{offer->build(size), std::nullopt};
    source.outputs = {{"output", source.graph.shape(source.graph.output())}};
    return source;
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{} does not take images of {}: {}; take a larger --size",
                                 request.network, size.image.ToString(), error.what()));
  }
}

}  // namespace

bool IsOnnxPath(const std::string& network) { return network.ends_with(".onnx"); }

std::vector<std::string> InputFiles(const std::string& network, const std::string& weights) {
  return {IsOnnxPath(network) ? network : "", weights};
}

std::map<std::string, Shape> ParseInputShapes(const std::vector<std::string>& words) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::map<std::string, Shape> shapes;
  for (const std::string& word : words) {
    const auto refuse = [&](const char* why) {
      throw UsageError(
          fmt::format("--input-shape {}: {}; give NAME=1x3x224x224", OneLine(word), why));
    };
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos) refuse("it has no '='");
    std::vector<std::int64_t> extents;
    const char* at = word.data() + equals + 1;
    const char* const end = word.data() + word.size();
    while (true) {
      std::int64_t extent = 0;
      const auto [next, error] = std::from_chars(at, end, extent);
      if (error != std::errc() || extent < 1 || extent > kMost) {
        refuse("an extent is not a number from 1 to 2147483647");
      }
      extents.push_back(extent);
      if (next == end) break;
      if (*next != 'x') refuse("its extents are not separated by x");
      at = next + 1;
    }
    if (!shapes.emplace(word.substr(0, equals), Shape(std::move(extents))).second) {
      refuse("the input has a shape already");
    }
  }
  return shapes;
}

void CheckNetworkName(const std::string& network) {
  if (IsOnnxPath(network) || FindNetwork(network) != nullptr) return;
  std::vector<std::string> names;
  for (const NetworkOffer& offer : Networks()) names.push_back(offer.FullName());
  CheckName("network", network, names);
}

NetworkSource OpenNetwork(const NetworkRequest& request) {
  NetworkSource source = IsOnnxPath(request.network) ? OpenOnnx(request) : OpenZoo(request);
  if (!request.weights.empty()) {
    try {
      source.parameters = ReadWeights(request.weights, source.graph, request.memory_limit);
    } catch (const ParameterError& error) {
      throw UsageError(fmt::format("{}: {}", request.weights, error.what()));
    }
  }
  return source;
}

}  // namespace topdnn
