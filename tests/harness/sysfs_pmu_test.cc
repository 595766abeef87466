#include "harness/counters/sysfs_pmu.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace topdnn {
namespace {

constexpr char kNoSysfs[] = "/nonexistent";

TEST(SysfsPmuTest, CpuLists) {
  EXPECT_EQ(ParseCpuList("0-2,8,10-10"), (std::vector<int>{0, 1, 2, 8, 10}));
  EXPECT_TRUE(ParseCpuList("").empty());
  EXPECT_EQ(ParseCpuList("3-1,x,-4,7"), (std::vector<int>{7}));
}

TEST(SysfsPmuTest, FieldsOfBits) {
  EXPECT_EQ(PlaceBits("config:8-15", 0x3), 0x300u);
  EXPECT_EQ(PlaceBits("config:0-7,32-35", 0xA1F), 0xA0000001Fu);
  EXPECT_EQ(PlaceBits("config:0-7,32-35", 0x101F), std::nullopt);  // 13 bits for 12
  EXPECT_EQ(PlaceBits("config1:0-7", 1), std::nullopt);
  EXPECT_EQ(PlaceBits("config:x", 1), std::nullopt);
}

TEST(SysfsPmuTest, TermsOfAnEvent) {
  EXPECT_EQ(ConfigOf("event=0x3c,umask=0x1,cmask=2", kNoSysfs), 0x200013Cu);
  EXPECT_EQ(ConfigOf("config=0x400", kNoSysfs), 0x400u);
  EXPECT_EQ(ConfigOf("event=0x3c,ldlat=3", kNoSysfs), std::nullopt);
  EXPECT_EQ(ConfigOf("event=?,umask=0x1", kNoSysfs), std::nullopt);
  EXPECT_EQ(ConfigOf("event=,umask=0x1", kNoSysfs), std::nullopt);
}

}  // namespace
}  // namespace topdnn
