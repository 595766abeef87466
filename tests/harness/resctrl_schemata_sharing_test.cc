// Schemata lines, masks and the machine's abilities, from texts of the kernel and hostile ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "harness/resctrl/capabilities.h"
#include "harness/resctrl/schemata.h"
#include "tests/resctrl/fake_resctrl.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SchemataTest, ReadsTheKernelsLines) {
  // (Linux, Documentation/filesystems/resctrl.rst: examples of L2, L3, CDP and MB)
  const auto schemata =
      ParseSchemata("    MB:0= 100;1=  70\n    L3:0=fffff;1=fffff\nL3CODE:0=3;1=c\n  L2:0=uninit");
  EXPECT_FALSE(schemata);
  const auto good =
      ParseSchemata("    MB:0= 100;1=  70\n    L3:0=fffff;1=0ff0f\nL3CODE:2=3\nL2:uninitialized\n");
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, (Schemata{{"MB", {{0, 100}, {1, 70}}},
                             {"L3", {{0, 0xfffff}, {1, 0x0ff0f}}},
                             {"L3CODE", {{2, 3}}}}));
}

TEST(SchemataTest, WritesWhatItReads) {
  const Schemata schemata = {{"L3", {{0, 0xfff}, {1, 0xf}}}, {"MB", {{0, 50}}}};
  EXPECT_EQ(SchemataText(schemata), "L3:0=fff;1=f\nMB:0=50\n");
  EXPECT_EQ(ParseSchemata(SchemataText(schemata)), schemata);
  EXPECT_EQ(ParseSchemata("L3:0=fff;1=f\nMB:0=50"), schemata);  // no newline at the end
}

TEST(SchemataTest, RefusesOtherText) {
  for (const char* const text :
       {"L3", ":0=f", "L3:", "L3:0", "L3:0=", "L3:=f", "L3:0=g", "L3:-1=f", "L3:0=f 1=f",
        "L3:0=11112222333344445", "MB:0=0x10", "L3:99999999999=f", "L3:0=f;;1=f", "\x01\x02"}) {
    EXPECT_FALSE(ParseSchemata(text)) << text;
  }
  EXPECT_FALSE(ParseSchemata(std::string("L3:0=\0f", 7)));
  EXPECT_FALSE(ParseSchemata(std::string(1 << 20, 'x')));
  EXPECT_TRUE(ParseSchemata("")->empty());
}

TEST(MaskTest, IsHexadecimal) {
  EXPECT_EQ(ParseMask("0xff"), 0xffu);
  EXPECT_EQ(ParseMask("FF0"), 0xff0u);
  for (const char* const text : {"", "0x", "-1", "+1", " f", "f ", "0b1g", "10000000000000000"}) {
    EXPECT_FALSE(ParseMask(text)) << text;
  }
}

// The verdict on a mask must be the kernel's: every mask of eight bits on several caches.
TEST(MaskTest, TheVerdictIsTheKernels) {
  for (const bool sparse : {false, true}) {
    for (const int least : {1, 2, 3}) {
      const MaskRules rules{.all = 0x3f, .least_bits = least, .sparse = sparse, .shareable = 0};
      FakeMachine machine;
      machine.caches["L3"] = {.all = 0x3f, .least_bits = least, .sparse = sparse};
      FakeResctrl files(MakeFakeState(machine));
      ASSERT_EQ(files.MakeFolder("g"), 0);
      for (std::uint64_t mask = 0; mask < 256; ++mask) {
        const int error = files.Write("g/schemata", SchemataText({{"L3", {{0, mask}}}}));
        EXPECT_EQ(MaskProblem(mask, rules).empty(), error == 0)
            << mask << " " << sparse << " " << least << " " << MaskProblem(mask, rules);
      }
    }
  }
}

TEST(MaskTest, AReasonSaysTheFix) {
  const MaskRules rules{.all = 0xfff, .least_bits = 2, .sparse = false, .shareable = 0};
  EXPECT_THAT(MaskProblem(0, rules), HasSubstr("zero"));
  EXPECT_THAT(MaskProblem(0x5, rules), HasSubstr("contiguous"));
  EXPECT_THAT(MaskProblem(0x1, rules), HasSubstr("the 2 adjacent bits"));
  EXPECT_THAT(MaskProblem(0x1000, rules), HasSubstr("0xfff: use its 12 bits"));
  // An AMD CPU allows an empty mask (min_cbm_bits 0), and one that is not contiguous.
  EXPECT_EQ(MaskProblem(0, {.all = 0xfff, .least_bits = 0, .sparse = true, .shareable = 0}), "");
}

ResctrlCapabilities Of(const FakeMachine& machine) {
  return ReadCapabilities(FakeResctrl(MakeFakeState(machine)));
}

TEST(CapabilitiesTest, AServerWithTwoSockets) {
  FakeMachine machine;
  machine.caches["L3"] = {.all = 0xfffff, .least_bits = 2, .shareable = 0xc0000, .closids = 15};
  const ResctrlCapabilities found = Of(machine);
  ASSERT_EQ(found.caches.size(), 1u);
  const CacheControl& cache = *LastCacheControl(found);
  EXPECT_EQ(cache.cache, "L3");
  EXPECT_THAT(cache.resources, ElementsAre("L3"));
  EXPECT_FALSE(cache.cdp());
  EXPECT_EQ(cache.ways(), 20);
  EXPECT_EQ(cache.rules.least_bits, 2);
  EXPECT_EQ(cache.rules.shareable, 0xc0000u);
  EXPECT_FALSE(cache.rules.sparse);
  EXPECT_EQ(cache.closids, 15);
  EXPECT_THAT(cache.domains, ElementsAre(0, 1));
  ASSERT_TRUE(found.bandwidth);
  EXPECT_EQ(found.bandwidth->least, 10);
  EXPECT_EQ(found.bandwidth->granularity, 10);
  EXPECT_EQ(found.bandwidth->largest, 100);
  EXPECT_EQ(found.bandwidth->closids, 8);
  ASSERT_TRUE(found.monitor);
  EXPECT_EQ(found.monitor->rmids, 32);
  EXPECT_THAT(found.monitor->features,
              ElementsAre("llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"));
}

TEST(CapabilitiesTest, CodeAndDataPrioritisationHasTwoResources) {
  FakeMachine machine;
  machine.caches = {{"L3CODE", {.all = 0x7ff, .closids = 8}},
                    {"L3DATA", {.all = 0x7ff, .least_bits = 2, .closids = 8}}};
  const ResctrlCapabilities found = Of(machine);
  const CacheControl& cache = *LastCacheControl(found);
  EXPECT_TRUE(cache.cdp());
  EXPECT_THAT(cache.resources, ElementsAre("L3CODE", "L3DATA"));
  EXPECT_EQ(cache.cache, "L3");
  EXPECT_EQ(cache.rules.least_bits, 2);  // of both
}

TEST(CapabilitiesTest, AMachineMayHaveOnlyL2) {
  FakeMachine machine;
  machine.caches = {{"L2", {.all = 0xff, .closids = 4}}};
  machine.bandwidth = false;
  machine.monitor = false;
  machine.domains = {0, 1, 2, 3};
  const ResctrlCapabilities found = Of(machine);
  EXPECT_EQ(LastCacheControl(found)->cache, "L2");
  EXPECT_EQ(LastCacheControl(found)->domains.size(), 4u);
  EXPECT_FALSE(found.bandwidth);
  EXPECT_FALSE(found.monitor);
}

TEST(CapabilitiesTest, TheLastOfTwoCachesIsL3) {
  FakeMachine machine;
  machine.caches = {{"L2", {.all = 0xff}}, {"L3", {.all = 0xfff}}};
  EXPECT_EQ(LastCacheControl(Of(machine))->cache, "L3");
}

TEST(CapabilitiesTest, SparseMasksAreKnownByTheirFile) {
  FakeMachine machine;
  machine.caches["L3"].sparse = true;
  EXPECT_TRUE(LastCacheControl(Of(machine))->rules.sparse);
  machine.caches["L3"].has_sparse_file = false;
  EXPECT_FALSE(LastCacheControl(Of(machine))->rules.sparse);
}

TEST(CapabilitiesTest, AMonitorAloneDividesNothing) {
  FakeMachine machine;
  machine.caches.clear();
  machine.bandwidth = false;
  const ResctrlCapabilities found = Of(machine);
  EXPECT_EQ(LastCacheControl(found), nullptr);
  EXPECT_TRUE(found.monitor);
}

// The message about a file with this content.
std::string MessageAbout(const std::string& path, const std::string& text) {
  const auto state = MakeFakeState();
  state->texts[path] = text;
  try {
    ReadCapabilities(FakeResctrl(state));
  } catch (const ResctrlError& error) {
    return error.what();
  }
  return "";
}

TEST(CapabilitiesTest, HostileFilesAreRefusedInOneShortLine) {
  for (const char* const path :
       {"schemata", "info/L3/cbm_mask", "info/L3/min_cbm_bits", "info/L3/num_closids",
        "info/MB/bandwidth_gran", "info/L3_MON/num_rmids", "info/L3/shareable_bits"}) {
    for (const std::string& text : {std::string(1 << 20, '9'), std::string("\x1b[31m\0\xff", 7),
                                    std::string("-5\n"), std::string("12 34\n")}) {
      const std::string message = MessageAbout(path, text);
      EXPECT_THAT(message, HasSubstr(path)) << text.substr(0, 20);
      EXPECT_LT(message.size(), 400u);
      EXPECT_EQ(message.find_first_of("\x1b\n"), std::string::npos);
    }
  }
  EXPECT_EQ(MessageAbout("info/L3/cbm_mask", "fff"), "");  // no newline
}

TEST(CapabilitiesTest, AFileThatMayNotBeReadSaysSo) {
  const auto state = MakeFakeState();
  state->errors["info/L3/cbm_mask"] = EACCES;
  try {
    ReadCapabilities(FakeResctrl(state));
    FAIL();
  } catch (const ResctrlError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("info/L3/cbm_mask"), HasSubstr("as root")));
  }
}

TEST(NotMountedTest, TheReasonDependsOnTheCpu) {
  const std::string mount = "mount -t resctrl resctrl /sys/fs/resctrl";
  EXPECT_THAT(WhyNotMounted(kResctrlRoot, "processor\t: 0\nflags\t\t: fpu cat_l3 mba\n"),
              AllOf(HasSubstr(mount), testing::Not(HasSubstr("lacks"))));
  EXPECT_THAT(WhyNotMounted(kResctrlRoot, "processor\t: 0\nflags\t\t: fpu cat_l2"),
              testing::Not(HasSubstr("lacks")));
  EXPECT_THAT(WhyNotMounted(kResctrlRoot, "processor\t: 0\nflags\t\t: fpu cat_l33\n"),
              AllOf(HasSubstr("lacks"), HasSubstr("cat_l3"), HasSubstr(mount)));
  // Arm's cpuinfo does not say whether the CPU has MPAM.
  EXPECT_THAT(WhyNotMounted(kResctrlRoot, "processor\t: 0\nFeatures\t: fp asimd sve\n"),
              AllOf(HasSubstr(mount), testing::Not(HasSubstr("lacks"))));
}

TEST(BandwidthTest, IsRoundedUpAsTheKernelDoes) {
  const BandwidthControl control{
      .least = 10, .granularity = 10, .closids = 8, .domains = {0}, .largest = 100};
  FakeResctrl files(MakeFakeState());
  files.MakeFolder("g");
  for (int percent = 10; percent <= 100; ++percent) {
    ASSERT_EQ(files.Write("g/schemata", "MB:0=" + std::to_string(percent) + "\n"), 0);
    const auto now = ParseSchemata(files.Read("g/schemata").text);
    EXPECT_EQ(now->at("MB").at(0), static_cast<unsigned>(RoundedBandwidth(percent, control)));
  }
}

}  // namespace
}  // namespace topdnn
