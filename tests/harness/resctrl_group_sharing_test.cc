// Groups of resctrl on a fake with the kernel's rules, and on a plain folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "harness/files/small_file.h"
#include "harness/resctrl/control_group.h"
#include "tests/process/test_folder.h"
#include "tests/resctrl/fake_resctrl.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

template <class Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const ResctrlError& error) {
    return error.what();
  }
  return "";
}

TEST(ControlGroupTest, TheGroupIsRemovedAndItsTasksReturnToTheRoot) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  {
    ControlGroup group(files);
    EXPECT_TRUE(group.name().starts_with("topdnn-" + std::to_string(PidNamespace()) + "-" +
                                         std::to_string(getpid()) + "-"));
    group.Set({{"L3", {{0, 0xf}, {1, 0xf0}}}, {"MB", {{0, 25}}}});
    EXPECT_EQ(state->groups.at(group.name()).schemata.at("L3").at(1), 0xf0u);
    group.Add(101);
    state->Fork(101, 500);
    EXPECT_EQ(state->GroupOf(500), group.name());
  }
  EXPECT_EQ(state->groups.size(), 1u);
  EXPECT_EQ(state->GroupOf(101), "");
  EXPECT_EQ(state->GroupOf(500), "");
  // The root group was never written.
  for (const std::string& write : state->writes) EXPECT_THAT(write, testing::StartsWith("topdnn-"));
}

TEST(ControlGroupTest, SetReturnsWhatTheKernelMadeOfIt) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  ControlGroup group(files);
  const Schemata now = group.Set({{"MB", {{0, 25}, {1, 30}}}});
  EXPECT_EQ(now.at("MB"), (DomainValues{{0, 30}, {1, 30}}));
  EXPECT_EQ(now.at("L3"), (DomainValues{{0, 0xfff}, {1, 0xfff}}));
  EXPECT_EQ(group.Set({{"L3", {{1, 0x3}}}}).at("L3"), (DomainValues{{0, 0xfff}, {1, 0x3}}));
}

TEST(ControlGroupTest, CodeAndDataAreSetSeparately) {
  FakeMachine machine;
  machine.caches = {{"L3CODE", {}}, {"L3DATA", {}}};
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  ControlGroup group(files);
  group.Set({{"L3CODE", {{0, 0x3}, {1, 0x3}}}, {"L3DATA", {{0, 0xffc}, {1, 0xffc}}}});
  const auto& schemata = state->groups.at(group.name()).schemata;
  EXPECT_EQ(schemata.at("L3CODE").at(0), 0x3u);
  EXPECT_EQ(schemata.at("L3DATA").at(0), 0xffcu);
}

TEST(ControlGroupTest, ARefusalHasTheKernelsReason) {
  FakeMachine machine;
  machine.caches["L3"].least_bits = 2;
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  ControlGroup group(files);
  const auto refusal = [&](const Schemata& schemata) {
    return ErrorOf([&] { group.Set(schemata); });
  };
  EXPECT_THAT(refusal({{"L3", {{0, 0x5}}}}), HasSubstr("The mask 5 has non-consecutive 1-bits"));
  EXPECT_THAT(refusal({{"L3", {{0, 0x1}}}}), HasSubstr("Need at least 2 bits in the mask"));
  EXPECT_THAT(refusal({{"L3", {{0, 0x1000}}}}), HasSubstr("Mask out of range"));
  EXPECT_THAT(refusal({{"L3", {{7, 0xf}}}}),
              AllOf(HasSubstr("Invalid argument"), testing::Not(HasSubstr("kernel says"))));
  EXPECT_THAT(refusal({{"L4", {{0, 0xf}}}}), HasSubstr("Unknown or unsupported resource name"));
  EXPECT_THAT(refusal({{"MB", {{0, 5}}}}), HasSubstr("MB value 5 out of range [10,100]"));
  EXPECT_THAT(ErrorOf([&] { group.Add(4711); }),
              AllOf(HasSubstr("No task 4711"), HasSubstr("tasks"), HasSubstr("has ended")));
  // Nothing of a write with an error takes effect.
  EXPECT_EQ(state->groups.at(group.name()).schemata.at("L3").at(0), 0xfffu);
}

TEST(ControlGroupTest, GroupsRunOut) {
  FakeMachine machine;
  machine.caches["L3"].closids = 3;
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  const ControlGroup first(files), second(files);
  EXPECT_NE(first.name(), second.name());
  EXPECT_THAT(ErrorOf([&] { const ControlGroup third(files); }),
              AllOf(HasSubstr("Out of CLOSIDs"), HasSubstr("CLOSID"), HasSubstr("fewer")));
  EXPECT_EQ(state->groups.size(), 3u);
}

TEST(ControlGroupTest, EveryErrorHasAFix) {
  struct Case {
    int error;
    const char* fix;
  };
  for (const auto& [error, fix] :
       {Case{EACCES, "as root"}, Case{EPERM, "as root"}, Case{EROFS, "writable"},
        Case{EBUSY, "another program"}, Case{ENOSPC, "CLOSID"}}) {
    const auto state = MakeFakeState();
    state->errors["mkdir"] = error;
    FakeResctrl files(state);
    EXPECT_THAT(ErrorOf([&] { const ControlGroup group(files); }), HasSubstr(fix));
  }
}

TEST(ControlGroupTest, AMaskThatDoesNotStayIsAnError) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  ControlGroup group(files);
  state->texts[group.name() + "/schemata"] = "L3:0=fff;1=fff\n";
  EXPECT_THAT(ErrorOf([&] { group.Set({{"L3", {{0, 0x3}}}}); }), HasSubstr("are not those"));
  state->texts[group.name() + "/schemata"] = "\x01\x02";
  EXPECT_THAT(ErrorOf([&] { group.Set({{"L3", {{0, 0x3}}}}); }), HasSubstr("cannot read"));
}

// A child process has a copy of the object, and must not remove its parent's group.
TEST(ControlGroupTest, OnlyItsOwnProcessRemovesTheGroup) {
  const TestFolder folder;
  folder.Write("schemata", "L3:0=fff\n");
  const auto files = OpenResctrlFiles(folder.path());
  std::optional<ControlGroup> group(std::in_place, *files);
  const std::filesystem::path path = folder.path() / group->name();
  const pid_t child = fork();
  if (child == 0) {
    group.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  group.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ReadingsTest, AreSumsOverTheDomains) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  const ControlGroup group(files);
  auto& counters = state->groups.at(group.name()).counters;
  counters["mon_L3_00/llc_occupancy"] = "1048576\n";
  counters["mon_L3_01/llc_occupancy"] = "524288";  // no newline
  counters["mon_L3_00/mbm_total_bytes"] = "18446744073709551615\n";
  counters["mon_L3_01/mbm_total_bytes"] = "Unavailable\n";
  counters["mon_L3_01/mbm_local_bytes"] = "Error\n";
  EXPECT_EQ(group.Read().occupancy, 1572864u);
  EXPECT_FALSE(group.Read().total_bytes);
  EXPECT_FALSE(group.Read().local_bytes);
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("-1\n"), std::string("12x\n"),
        std::string(1 << 20, '7'), std::string("1\0", 2), std::string("99999999999999999999\n")}) {
    counters["mon_L3_01/llc_occupancy"] = text;
    EXPECT_FALSE(group.Read().occupancy) << text.substr(0, 30);
  }
}

TEST(ReadingsTest, AreAbsentWithoutAMonitor) {
  FakeMachine machine;
  machine.monitor = false;
  FakeResctrl files(MakeFakeState(machine));
  const ControlGroup group(files);
  EXPECT_FALSE(group.Read().occupancy);
  EXPECT_FALSE(group.Read().total_bytes);
}

// AMD's assignable counters: a group that the kernel gives none when it is made gets them here.
TEST(ControlGroupTest, CountersOfBandwidthAreAssigned) {
  FakeMachine machine;
  machine.bandwidth_counters = 3;
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  EXPECT_TRUE(ReadCapabilities(files).monitor.value().assigned);
  const ControlGroup first(files);
  state->groups.at(first.name()).counters["mon_L3_00/mbm_total_bytes"] = "1000\n";
  state->groups.at(first.name()).counters["mon_L3_01/mbm_total_bytes"] = "234\n";
  EXPECT_EQ(first.Read().total_bytes, 1234u);
  EXPECT_EQ(first.Read().local_bytes, 0u);
  EXPECT_EQ(first.Read().reason, "");
  // The third counter is the last one: this group has no local bytes, and says why.
  const ControlGroup second(files);
  EXPECT_EQ(second.Read().total_bytes, 0u);
  EXPECT_FALSE(second.Read().local_bytes);
  EXPECT_THAT(second.Read().reason,
              AllOf(HasSubstr("mbm_local_bytes"), HasSubstr("Failed to allocate counter"),
                    HasSubstr("use fewer groups")));
  EXPECT_EQ(second.Read().occupancy, 0u);
}

TEST(ControlGroupTest, AnUnassignedCounterIsAbsentWithTheKernelsWord) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  const ControlGroup group(files);
  for (const std::string word : {"Unassigned", "Unavailable", "Error"}) {
    state->groups.at(group.name()).counters["mon_L3_01/mbm_total_bytes"] = word + "\n";
    EXPECT_FALSE(group.Read().total_bytes);
    EXPECT_EQ(group.Read().reason, "mbm_total_bytes of mon_L3_01 is '" + word + "'");
    EXPECT_EQ(group.Read().local_bytes, 0u);
  }
  // Without the mode, nothing is assigned.
  for (const std::string& write : state->writes) EXPECT_THAT(write, Not(HasSubstr("assignments")));
}

// Arm (MPAM): the caches count the occupancy, and the memory nodes the total of bandwidth.
TEST(ControlGroupTest, TheBandwidthOfMemoryNodesIsAdded) {
  FakeMachine machine;
  machine.nodes = {0, 1, 2, 3};
  machine.caches = {{"L3", {.all = 0xffff}}, {"L2", {.all = 0xff}}};
  machine.granularity = 7;
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  const ResctrlCapabilities capabilities = ReadCapabilities(files);
  EXPECT_THAT(capabilities.monitor.value().features,
              ElementsAre("llc_occupancy", "mbm_total_bytes"));
  ASSERT_EQ(capabilities.caches.size(), 2u);
  EXPECT_EQ(capabilities.caches[1].ways(), 8);
  const ControlGroup group(files);
  auto& counters = state->groups.at(group.name()).counters;
  counters["mon_L3_00/llc_occupancy"] = "4096\n";
  for (const char* node : {"00", "01", "03"}) {
    counters["mon_NODE_" + std::string(node) + "/mbm_total_bytes"] = "100\n";
  }
  const GroupReadings readings = group.Read();
  EXPECT_EQ(readings.occupancy, 4096u);
  EXPECT_EQ(readings.total_bytes, 300u);
  EXPECT_FALSE(readings.local_bytes);
  EXPECT_EQ(readings.reason, "");  // the machine has no such counter
}

// A machine that divides only its second-level caches.
TEST(ControlGroupTest, PartsOfSecondLevelCachesAreSet) {
  FakeMachine machine;
  machine.caches = {{"L2", {.all = 0xff}}};
  machine.domains = {0, 1, 2, 3};
  machine.bandwidth = machine.monitor = false;
  const auto state = MakeFakeState(machine);
  FakeResctrl files(state);
  const ResctrlCapabilities capabilities = ReadCapabilities(files);
  ASSERT_NE(LastCacheControl(capabilities), nullptr);
  EXPECT_EQ(LastCacheControl(capabilities)->cache, "L2");
  EXPECT_FALSE(capabilities.monitor);
  ControlGroup group(files);
  group.Set({{"L2", {{0, 0xf}, {1, 0xf}, {2, 0xf0}, {3, 0xf0}}}});
  EXPECT_EQ(state->groups.at(group.name()).schemata.at("L2").at(2), 0xf0u);
  EXPECT_FALSE(group.Read().occupancy);
}

// Process 100 started at tick 5000.
std::optional<std::uint64_t> KnownStart(pid_t process) {
  return process == 100 ? std::optional<std::uint64_t>(5000) : std::nullopt;
}

TEST(StaleGroupTest, OnlyOursOfProcessesThatHaveEnded) {
  for (const char* const stale :
       {"topdnn-7-99-5000-0", "topdnn-7-100-4999-0", "topdnn-7-100-4999-12"}) {
    EXPECT_TRUE(IsStaleGroup(stale, 7, KnownStart)) << stale;
  }
  for (const char* const kept : {"topdnn-7-100-5000-0",
                                 "topdnn-8-99-5000-0",
                                 "topdnn-99-5000-0",
                                 "topdnn-99-0",
                                 "topdnn",
                                 "topdnn-",
                                 "topdnn-7-99",
                                 "topdnn-7-99-",
                                 "topdnn-7-99-1-",
                                 "topdnn-7-99-1-x",
                                 "topdnn-7-x-1-0",
                                 "topdnn--7-99-1-0",
                                 "topdnn-7-99-1-2-3",
                                 "topdnn-7-99-1-0 ",
                                 "xtopdnn-7-99-1-0",
                                 "Topdnn-7-99-1-0",
                                 "topdnn-7-0-1-0",
                                 "topdnn-7-99999999999999999999-1-0",
                                 "topdnn-7-4294967395-1-0",
                                 "info",
                                 "mygroup",
                                 "mon_groups"}) {
    EXPECT_FALSE(IsStaleGroup(kept, 7, KnownStart)) << kept;
  }
}

TEST(StaleGroupTest, GroupsOfOthersAreNeverChanged) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  const std::string ours = "topdnn-" + std::to_string(PidNamespace());
  const std::string ended = ours + "-99-5000-0", runs = ours + "-100-5000-0";
  for (const std::string& name : {ended, runs, std::string("others"), std::string("topdnn-web")}) {
    ASSERT_EQ(files.MakeFolder(name), 0);
    state->writes.clear();
  }
  ASSERT_EQ(files.Write("others/tasks", "101\n"), 0);
  ASSERT_EQ(files.Write(ended + "/tasks", "102\n"), 0);
  state->writes.clear();
  EXPECT_THAT(RemoveStaleGroups(files, KnownStart), ElementsAre(ended));
  EXPECT_THAT(files.Folders(""), ElementsAre("info", "others", runs, "topdnn-web"));
  EXPECT_EQ(state->GroupOf(101), "others");
  EXPECT_EQ(state->GroupOf(102), "");
  EXPECT_THAT(state->writes, IsEmpty());
  EXPECT_THAT(RemoveStaleGroups(files, KnownStart), IsEmpty());
}

TEST(StaleGroupTest, AnErrorSaysWhichGroup) {
  const auto state = MakeFakeState();
  FakeResctrl files(state);
  const std::string name = "topdnn-" + std::to_string(PidNamespace()) + "-99-1-0";
  ASSERT_EQ(files.MakeFolder(name), 0);
  state->errors["rmdir"] = EACCES;
  EXPECT_THAT(ErrorOf([&] { RemoveStaleGroups(files, KnownStart); }),
              AllOf(HasSubstr(name), HasSubstr("as root")));
  state->errors["rmdir"] = ENOENT;  // another run was faster
  EXPECT_EQ(ErrorOf([&] { RemoveStaleGroups(files, KnownStart); }), "");
}

TEST(StartOfProcessTest, KnowsTheLivingAndTheDead) {
  const auto start = StartOfProcess(getpid());
  ASSERT_TRUE(start);
  EXPECT_GT(*start, 0u);
  EXPECT_EQ(StartOfProcess(getpid()), start);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended = {};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  EXPECT_FALSE(StartOfProcess(child));  // a zombie
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(StartOfProcess(child));
  EXPECT_FALSE(StartOfProcess(0));
  EXPECT_FALSE(StartOfProcess(-1));
}

// A process that is killed leaves its groups, and the next one removes them.
TEST(StaleGroupTest, WhatAKilledProcessLeavesIsRemoved) {
  const TestFolder folder;
  const auto files = OpenResctrlFiles(folder.path());
  const pid_t child = fork();
  if (child == 0) {
    ControlGroup group(*files);
    group.Set({{"L3", {{0, 0xf}}}});
    group.Add(getpid());
    _exit(0);  // without its destructor
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(files->Folders("").size(), 1u);
  const ControlGroup own(*files);
  EXPECT_EQ(RemoveStaleGroups(*files).size(), 1u);
  EXPECT_THAT(files->Folders(""), ElementsAre(own.name()));
}

TEST(DiskFilesTest, ReadsOnlyRegularFilesOfSomeSize) {
  const TestFolder folder;
  folder.Write("small", "fff\n");
  folder.Write("huge", std::string(std::size_t{2} << 20, 'f'));
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const auto files = OpenResctrlFiles(folder.path());
  EXPECT_EQ(files->Read("small").text, "fff\n");
  EXPECT_EQ(files->Read("huge").error, EFBIG);
  EXPECT_EQ(files->Read("huge").text, "");
  EXPECT_EQ(files->Read("pipe").error, EINVAL);
  EXPECT_EQ(files->Read("none").error, ENOENT);
  EXPECT_NE(files->Read("").error, 0);
  EXPECT_NE(files->Write("pipe", "x"), 0);
}

TEST(DiskFilesTest, RemovesOnlyWhatItWrites) {
  const TestFolder folder;
  const auto files = OpenResctrlFiles(folder.path());
  ASSERT_EQ(files->MakeFolder("g"), 0);
  EXPECT_EQ(files->MakeFolder("g"), EEXIST);
  EXPECT_EQ(files->Write("g/schemata", "L3:0=f\n"), 0);
  EXPECT_EQ(files->Append("g/tasks", "1\n"), 0);
  EXPECT_EQ(files->Append("g/tasks", "2\n"), 0);
  EXPECT_EQ(files->Read("g/tasks").text, "1\n2\n");
  EXPECT_EQ(files->Write("g/schemata", "L3:0=3\n"), 0);
  EXPECT_EQ(files->Read("g/schemata").text, "L3:0=3\n");
  EXPECT_EQ(files->RemoveFolder("g"), 0);
  folder.Write("mine/notes", "text");
  EXPECT_EQ(files->RemoveFolder("mine"), ENOTEMPTY);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "mine/notes"));
  EXPECT_EQ(files->RemoveFolder("none"), ENOENT);
}

// On a machine with resctrl: a group with this process.
TEST(RealResctrlTest, MakesAndRemovesAGroup) {
  const auto files = OpenResctrlFiles();
  ResctrlCapabilities machine;
  try {
    machine = ReadCapabilities(*files);
  } catch (const ResctrlError& error) {
    GTEST_SKIP() << error.what();
  }
  const CacheControl* const cache = LastCacheControl(machine);
  if (cache == nullptr) GTEST_SKIP() << "resctrl of this machine divides no cache";
  if (access(kResctrlRoot, W_OK) != 0) GTEST_SKIP() << "resctrl may not be written: needs root";
  const auto before = files->Folders("");
  {
    ControlGroup group(*files);
    Schemata schemata;
    for (const std::string& resource : cache->resources) {
      for (const int domain : cache->domains) schemata[resource][domain] = cache->rules.all;
    }
    group.Set(schemata);
    const pid_t child = fork();
    if (child == 0) {
      group.Add(getpid());
      const std::string text =
          ReadSmallFile(std::string(kResctrlRoot) + "/" + group.name() + "/tasks").text;
      _exit(text.find(std::to_string(getpid())) == std::string::npos ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files->Folders(""), before);
}

}  // namespace
}  // namespace topdnn
