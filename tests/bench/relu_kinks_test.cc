#include "bench/validation/relu_kinks.h"

#include <gtest/gtest.h>

#include <vector>

namespace topdnn {
namespace {

TEST(ReluKinksTest, CountsValuesThatRoundingMayMoveAcross) {
  // The largest value is 10, so rounding may change a value by 4e-5.
  EXPECT_EQ(CountAtKinks(std::vector<double>{0, 10, 1e-5, 3.9e-5, 5e-5, 1}, 0), 2);
  EXPECT_EQ(CountAtKinks(std::vector<double>{0, 0, 0, 3}, 0), 0);  // (the ReLU made the zeros)
  EXPECT_EQ(CountAtKinks(std::vector<double>{}, 0), 0);
}

TEST(ReluKinksTest, ABoundIsAKinkToo) {
  EXPECT_EQ(CountAtKinks(std::vector<double>{6, 6, 5.99999, 5.99, 3, 1e-6}, 6), 2);
  EXPECT_EQ(CountAtKinks(std::vector<double>{6, 6, 5.99999, 5.99, 3, 1e-6}, 0), 1);
}

}  // namespace
}  // namespace topdnn
