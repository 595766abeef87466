#include "kernels/extents.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

namespace topdnn {
namespace {

TEST(ExtentsTest, TensorsUpToTheLimitAreAccepted) {
  EXPECT_NO_THROW(CheckExtents("relu", Shape{}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{1, 1, 1}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{kMostElements}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{1 << 24, 1 << 24}));
}

TEST(ExtentsTest, OthersAreRefusedByNameAndShape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const Shape& shape : {Shape{0}, Shape{3, -1}, Shape{kMostElements + 1},
                             Shape{(1 << 24) + 1, 1 << 24}, Shape{kMost, kMost, kMost}}) {
    try {
      CheckExtents("relu", shape);
      ADD_FAILURE() << shape.ToString();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find("relu of " + shape.ToString()), 0u) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace topdnn
