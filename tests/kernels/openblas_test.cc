#include "kernels/library/openblas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(OpenBlasTest, OldCodeForANewCpuIsADoubtWithTheFix) {
  EXPECT_THAT(openblas::OldCodeDoubt("Prescott", false, "avx512"),
              HasSubstr("OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_THAT(openblas::OldCodeDoubt("Prescott", false, "avx2"),
              HasSubstr("OPENBLAS_CORETYPE=Haswell"));
}

// The names are spelled as openblas_get_corename() spells them.
TEST(OpenBlasTest, CoresHaveTheIsaOfTheirKernels) {
  for (const char* core : {"SkylakeX", "Cooperlake", "SapphireRapids"}) {
    EXPECT_EQ(openblas::IsaOfCore(core), "avx512") << core;
  }
  EXPECT_EQ(openblas::IsaOfCore("Haswell"), "avx2");
  EXPECT_EQ(openblas::IsaOfCore("Unknown"), "");
}

TEST(OpenBlasTest, OldCodeThatTheUserOrTheCpuWantsIsNoDoubt) {
  EXPECT_EQ(openblas::OldCodeDoubt("Prescott", true, "avx512"), "");
  EXPECT_EQ(openblas::OldCodeDoubt("Prescott", false, ""), "");
  EXPECT_EQ(openblas::OldCodeDoubt("SkylakeX", false, "avx512"), "");
}

}  // namespace
}  // namespace topdnn
