// The networks that topdnn can find by name. Each is a file of networks/zoo/ that registers itself:
//
//   const NetworkRegistration kCnn({.name = "cnn", ...});

#ifndef TOPDNN_NETWORKS_GRAPH_ZOO_H_
#define TOPDNN_NETWORKS_GRAPH_ZOO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "networks/graph/graph.h"

namespace topdnn {

struct NetworkSize {
  std::int64_t batch = 1;
  Shape image;  // (C, H, W)
  std::int64_t classes = 10;
};

// A total as its publication prints it. `unit` is that of its last digit.
struct PublishedFigure {
  double value, unit;
};

struct PublishedTotals {
  std::optional<PublishedFigure> parameters = {}, macs = {};
  std::string source = {};
};

// The totals in the meta data of torchvision 0.15's weights: num_params, and _ops in 10^9
// multiply-accumulates.
PublishedTotals TotalsOfTorchvision(std::optional<double> parameters, double gmacs);

struct NetworkOffer {
  std::string name;             // "resnet50"
  std::string variant = {};     // "v1"; empty for the default
  std::string source;           // the paper or program that defines it
  Shape image = {3, 224, 224};  // default (C, H, W)
  Shape small = {3, 64, 64};    // a small image that all layers accept, for tests
  std::int64_t classes = 1000;
  Graph (*build)(const NetworkSize& size);
  PublishedTotals published = {};  // at batch 1, of the default image and classes

  // "resnet50", "resnet50:v1".
  std::string FullName() const { return variant.empty() ? name : name + ":" + variant; }
};

class NetworkRegistration {
 public:
  // Throws std::logic_error if a network of this full name is registered already.
  explicit NetworkRegistration(const NetworkOffer& offer);
};

// All registered networks, sorted by full name.
std::vector<NetworkOffer> Networks();
// The network of this full name, or nullptr.
const NetworkOffer* FindNetwork(std::string_view full_name);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_GRAPH_ZOO_H_
