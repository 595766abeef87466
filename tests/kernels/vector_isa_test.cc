#include "kernels/simd/vector_isa.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace topdnn {
namespace {

TEST(VectorIsaTest, TheVectorsBeginWithTheWidestIsaAndEndWithThoseOfEveryCpu) {
  const auto vectors = VectorsOfThisCpu();
  EXPECT_EQ(vectors.front().isa, WidestVectorIsa());
  EXPECT_EQ(vectors.back().isa, "");
  EXPECT_EQ(vectors.back().lanes, 4);
  for (std::size_t i = 1; i < vectors.size(); ++i) {
    EXPECT_EQ(2 * vectors[i].lanes, vectors[i - 1].lanes);
  }
}

TEST(VectorIsaTest, TheWidestThatFitAreTaken) {
  const auto dividing = [](std::int64_t channels) {
    return WidestVectors([channels](std::int64_t lanes) { return channels % lanes == 0; }).lanes;
  };
  EXPECT_EQ(dividing(48), VectorsOfThisCpu().front().lanes);
  EXPECT_EQ(dividing(12), 4);
  EXPECT_EQ(dividing(6), 4);  // none
}

}  // namespace
}  // namespace topdnn
