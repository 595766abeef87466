// Writes a network layer by layer, shapes inferred: what a file of the zoo is made of.

#ifndef TOPDNN_NETWORKS_BUILDER_H_
#define TOPDNN_NETWORKS_BUILDER_H_

#include <cstdint>
#include <string>

#include "networks/graph.h"
#include "networks/zoo/zoo.h"

namespace topdnn {

// Square kernels, equal strides and symmetric padding, as nearly all networks have.
struct ConvLayer {
  std::int64_t outputs;
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
};

struct PoolLayer {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding = 0;
  bool ceil_mode = false;
};

class NetworkBuilder {
 public:
  NetworkBuilder(std::string name, const NetworkSize& size);

  ValueId input() const { return 0; }
  const Shape& shape(ValueId value) const { return graph_.shape(value); }

  ValueId Conv(std::string name, ValueId from, const ConvLayer& layer);
  ValueId Relu(std::string name, ValueId from);
  ValueId MaxPool(std::string name, ValueId from, const PoolLayer& layer);
  // Fully connected; an image is taken as it is.
  ValueId Dense(std::string name, ValueId from, std::int64_t outputs);

  Graph Take() && { return std::move(graph_); }

 private:
  Graph graph_;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_BUILDER_H_
