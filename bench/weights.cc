#include "bench/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bench/command.h"
#include "bench/safetensors.h"
#include "bench/whole_file.h"

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

ParameterValues ReadWeights(const std::string& path, std::size_t memory_limit) {
  NamedArrays arrays;
  if (path.ends_with(".npz")) {
    arrays = ReadNpz(path);
  } else if (path.ends_with(".safetensors")) {
    arrays = DecodeSafetensors(ReadWholeFile(path, memory_limit), path);
  } else {
    throw UsageError(fmt::format("--weights {}: give an .npz or a .safetensors file", path));
  }
  const std::string prefix = "weights/";
  const auto has_prefix = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  const bool is_dump = std::any_of(arrays.begin(), arrays.end(), has_prefix);
  ParameterValues values;
  for (const auto& entry : arrays) {
    if (is_dump && !has_prefix(entry)) continue;
    const std::string key = is_dump ? entry.first.substr(prefix.size()) : entry.first;
    if (!values.emplace(key, ToTensor(entry.second)).second) {
      throw UsageError(fmt::format("{}: {} is there twice; save it again", path, key));
    }
  }
  return values;
}

}  // namespace topdnn
