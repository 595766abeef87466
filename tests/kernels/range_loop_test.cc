#include "kernels/kernel/range_loop.h"

#include <gtest/gtest.h>

namespace topdnn {
namespace {

// A loop of 1000 iterations of 4 us has 1000 pieces. A single thread would take all of one piece.
TEST(RangeLoopTest, HeavyIterationsHaveSmallPieces) {
  EXPECT_EQ(PieceOf(4), 2048);
  EXPECT_EQ(PieceOf(0), 2048);
  EXPECT_EQ(PieceOf(8), 1024);
  EXPECT_EQ(PieceOf(1028), 7);
  EXPECT_EQ(PieceOf(16000), 1);
}

}  // namespace
}  // namespace topdnn
