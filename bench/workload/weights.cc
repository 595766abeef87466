#include "bench/workload/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "bench/command_line/command.h"
#include "bench/formats/safetensors.h"
#include "bench/formats/whole_file.h"

namespace topdnn {

Tensor ToTensor(const NpyArray& array) {
  Tensor tensor(array.shape);
  if (array.data.empty()) return tensor;
  if (array.type == DataType::kF32) {
    std::memcpy(tensor.data(), array.data.data(), array.data.size());
  } else {
    FromDouble(
        ToDouble({array.shape, array.type, Layout::Plain(array.shape.rank())}, array.data.data()),
        tensor.desc(), tensor.data());
  }
  return tensor;
}

namespace {

constexpr std::string_view kDumpPrefix = "weights/";

// Reader: NpzReader or SafetensorsReader.
template <typename Reader>
ParameterValues ReadFrom(const Reader& reader, const std::string& path, const Graph& graph) {
  const auto& entries = reader.entries();
  const bool is_dump = std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.name.starts_with(kDumpPrefix);
  });
  std::map<std::string, std::size_t> places;
  std::map<std::string, Shape> shapes;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_dump && !entries[i].name.starts_with(kDumpPrefix)) continue;
    const std::string key = is_dump ? entries[i].name.substr(kDumpPrefix.size()) : entries[i].name;
    if (!places.emplace(key, i).second) {
      throw UsageError(fmt::format("{}: duplicate {}; save it again", path, key));
    }
    shapes.emplace(key, entries[i].shape);
  }
  CheckParameterShapes(graph, shapes);
  ParameterValues values;
  for (const auto& [key, place] : places) values.emplace(key, ToTensor(reader.Read(place)));
  CheckParameters(graph, values);
  return values;
}

}  // namespace

ParameterValues ReadWeights(const std::string& path, const Graph& graph, std::size_t memory_limit) {
  if (path.ends_with(".npz")) return ReadFrom(NpzReader(path), path, graph);
  if (path.ends_with(".safetensors")) {
    return ReadFrom(SafetensorsReader(ReadWholeFile(path, memory_limit), path), path, graph);
  }
  throw UsageError(fmt::format("--weights {}: give an .npz or a .safetensors file", path));
}

}  // namespace topdnn
