// The network that a command's NET names: a zoo network or an ONNX file, with the weights of that
// file or of `--weights`.

#ifndef TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_
#define TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/onnx/import/importer.h"
#include "networks/parameters/parameter_values.h"

namespace topdnn {

struct NetworkRequest {
  std::string network;  // a name of the zoo, or a path that ends in .onnx
  std::string weights;  // an .npz or .safetensors file; empty: none
  // Images per step. Absent: the number that an ONNX file fixes, otherwise `default_batch`.
  std::optional<std::int64_t> batch = {};
  std::int64_t default_batch = 1;
  // Height and width of the image, if the network is a zoo network or the file leaves them open.
  std::int64_t size = 0;     // 0: the network's own
  std::int64_t classes = 0;  // 0: the network's own
  bool training = false;
  // Complete shapes of inputs, by name; a zoo network's only input is named "input".
  std::map<std::string, Shape> input_shapes = {};
  bool inputs_are_given = false;          // the user gives values for each input of `input_shapes`
  std::vector<std::string> outputs = {};  // of an ONNX file; empty: all
  std::size_t memory_limit = 0;
};

struct NetworkOutput {
  std::string name;
  Shape shape;
  DataType type = DataType::kF32;  // that the file gives it
};

struct NetworkSource {
  Graph graph;
  // Absent: to be drawn by a seed.
  std::optional<ParameterValues> parameters = {};
  std::vector<ImportedInput> inputs = {{"input"}};  // as the graph orders them
  std::vector<NetworkOutput> outputs = {};          // as the file has them
};

bool IsOnnxPath(const std::string& network);

// The files that these words name, for CheckOutputs; an empty word for none.
std::vector<std::string> InputFiles(const std::string& network, const std::string& weights);

// Reads NAME=1x3x224x224 of --input-shape. Throws UsageError.
std::map<std::string, Shape> ParseInputShapes(const std::vector<std::string>& words);

// Throws UsageError, in one line, if the zoo has no network of that name; suggests the nearest.
// Does not open files.
void CheckNetworkName(const std::string& network);

// Throws UsageError, in one line, for a network or weights that cannot be loaded.
NetworkSource OpenNetwork(const NetworkRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_
