// Every convolution and pooling of the zoo has the window that the network's source defines. Totals
// of multiply-accumulates would not show a wrong pooling.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"
#include "networks/graph/zoo.h"

namespace topdnn {
namespace {

using LayerName = std::pair<std::string, std::string>;  // network, layer

// The other columns of tests/networks/windows.csv, after network and layer. Its comments name the
// sources.
std::map<LayerName, std::string> ReadWindows() {
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/networks/windows.csv");
  std::map<LayerName, std::string> windows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#' || line.rfind("network,", 0) == 0) continue;
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    const LayerName name{line.substr(0, first), line.substr(first + 1, second - first - 1)};
    EXPECT_TRUE(windows.emplace(name, line.substr(second + 1)).second) << line;
  }
  return windows;
}

// Whether stride and result are square, and the padding is the same on opposite sides.
template <typename Extents>
bool IsEven(const Extents& e) {
  return e.stride_h == e.stride_w && e.pad_top == e.pad_bottom && e.pad_left == e.pad_right &&
         e.oh() == e.ow();
}

std::string Both(std::int64_t height, std::int64_t width) {
  return height == width ? fmt::format("{}", height) : fmt::format("{}x{}", height, width);
}

std::string RowOf(const ConvExtents& e) {
  EXPECT_TRUE(IsEven(e) && e.dilation_h == 1 && e.dilation_w == 1);
  return fmt::format("conv,{},{},{},floor,{},{},{}", Both(e.r, e.s), e.stride_h,
                     Both(e.pad_top, e.pad_left), e.groups, e.k, e.oh());
}

// With stride 1 nothing is rounded, and the sources differ in the rounding that they give.
std::string RowOf(const PoolOp& op, const std::string& expected) {
  const PoolExtents& e = op.extents();
  EXPECT_TRUE(IsEven(e));
  std::string rounding = e.ceil_mode ? "ceil" : "floor";
  if (e.stride_h == 1) rounding = expected.find(",ceil,") == std::string::npos ? "floor" : "ceil";
  return fmt::format("{},{},{},{},{},-,{},{}", NameOf(op.algorithm()), Both(e.r, e.s), e.stride_h,
                     Both(e.pad_top, e.pad_left), rounding, e.c, e.oh());
}

TEST(WindowsTest, EveryWindowIsThatOfTheSource) {
  const auto windows = ReadWindows();
  std::set<LayerName> seen;
  for (const NetworkOffer& network : Networks()) {
    const Graph graph = network.build({1, network.image, network.classes});
    for (const GraphNode& node : graph.nodes()) {
      const auto* conv = dynamic_cast<const ConvOp*>(node.op.get());
      const auto* pool = dynamic_cast<const PoolOp*>(node.op.get());
      if (conv == nullptr && pool == nullptr) continue;
      const LayerName name{network.FullName(), node.name};
      SCOPED_TRACE(name.first + " " + name.second);
      const auto found = windows.find(name);
      ASSERT_NE(found, windows.end()) << "windows.csv has no row";
      seen.insert(name);
      EXPECT_EQ(conv != nullptr ? RowOf(conv->extents()) : RowOf(*pool, found->second),
                found->second);
    }
  }
  for (const auto& [name, row] : windows) {
    EXPECT_EQ(seen.count(name), 1u) << name.first << " has no layer " << name.second;
  }
}

}  // namespace
}  // namespace topdnn
