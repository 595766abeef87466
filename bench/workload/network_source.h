// The network that a command's NET names: a zoo network or an ONNX file, with the weights of that
// file or of `--weights`.

#ifndef TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_
#define TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "networks/graph.h"
#include "networks/parameter_values.h"

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
  std::optional<Shape> input = {};  // (N, C, H, W), where an image is given
  std::size_t memory_limit = 0;
};

struct NetworkSource {
  Graph graph;
  // Absent: to be drawn by a seed.
  std::optional<ParameterValues> parameters = {};
  std::string input_name = "input";
  std::string output_name = "output";
  Shape output = {};  // as the file has it
};

bool IsOnnxPath(const std::string& network);

// Throws UsageError, in one line, if the zoo has no network of that name; suggests the nearest.
// Does not open files.
void CheckNetworkName(const std::string& network);

// Throws UsageError, in one line, for a network or weights that cannot be loaded.
NetworkSource OpenNetwork(const NetworkRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_NETWORK_SOURCE_H_
