#include "networks/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "kernels/activation/relu.h"
#include "kernels/eltwise/add.h"

namespace topdnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Shape kImage = {1, 3, 4, 4};

TEST(Graph, ReadersAreInOrderAndEachOnce) {
  Graph graph("three_nodes");
  const ValueId image = graph.AddInput(kImage);
  const ValueId mask = graph.AddInput(kImage, "mask");
  const ValueId relu = graph.Add("relu", std::make_shared<ReluOp>(kImage), {image});
  const ValueId twice = graph.Add("twice", std::make_shared<AddOp>(kImage, 2), {relu, relu});
  const ValueId sum = graph.Add("sum", std::make_shared<AddOp>(kImage, 2), {twice, relu});
  EXPECT_THAT(graph.Readers(image), ElementsAre(0));
  EXPECT_THAT(graph.Readers(mask), IsEmpty());
  EXPECT_THAT(graph.Readers(relu), ElementsAre(1, 2));
  EXPECT_THAT(graph.Readers(twice), ElementsAre(2));
  EXPECT_THAT(graph.Readers(sum), IsEmpty());
}

TEST(Graph, ARefusedNodeChangesNothing) {
  Graph graph("refusals");
  const ValueId image = graph.AddInput(kImage);
  const auto relu = std::make_shared<ReluOp>(kImage);
  const ValueId first = graph.Add("relu", relu, {image});
  EXPECT_THROW(graph.Add("relu", relu, {first}), std::invalid_argument);
  EXPECT_THROW(graph.Add("other", std::make_shared<ReluOp>(Shape{1, 3, 4, 5}), {first}),
               std::invalid_argument);
  EXPECT_THAT(graph.Readers(first), IsEmpty());
  EXPECT_EQ(graph.nodes().size(), 1u);
  graph.Add("other", relu, {first});  // its name is free
  EXPECT_THAT(graph.Readers(first), ElementsAre(1));
}

}  // namespace
}  // namespace topdnn
