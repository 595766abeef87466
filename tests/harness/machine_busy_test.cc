// Which other programs use the CPUs: readings of known accounts.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/machine/busy.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(BusyTest, ParsesTheStatOfAProcess) {
  const auto process = ParseProcessStat(
      "4242 (a b) c) R 1 4242 1 0 -1 4194304 92 0 0 0 120 30 0 0 20 0 1 0 12345 2490368 230");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->name, "a b) c");
  EXPECT_EQ(process->ticks, 150u);
  EXPECT_FALSE(ParseProcessStat("4242 (short) R 1 2"));
  EXPECT_FALSE(ParseProcessStat("4242 short"));
  EXPECT_FALSE(ParseProcessStat(""));
}

void Write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(BusyTest, ReadsTheGivenCpus) {
  const TestFolder folder;
  Write(folder.path() / "stat",
        "cpu  100 0 0 0 0 0 0 0 0 0\n"
        "cpu0 10 1 5 100 7 2 3 4 0 0\n"
        "cpu1 50 0 0 50 0 0 0 0 0 0\n"
        "cpu2 1 0 0 99 0 0 0 0 0 0\n"
        "intr 7\n");
  Write(folder.path() / "17" / "stat", "17 (one) S 1 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 1 0 1 1 1");
  std::filesystem::create_directories(folder.path() / "self");
  // A file that opens and fails to be read, as that of a process that ends meanwhile (ESRCH).
  std::filesystem::create_directories(folder.path() / "18" / "stat");
  const auto accounts = ReadCpuAccounts({0, 2}, folder.path());
  ASSERT_TRUE(accounts);
  EXPECT_EQ(accounts->busy, 25u + 1);  // without idle and waiting for I/O
  EXPECT_EQ(accounts->all, 132u + 100);
  ASSERT_EQ(accounts->processes.size(), 1u);
  EXPECT_EQ(accounts->processes.at(17), (CpuAccounts::Process{"one", 7}));
  EXPECT_FALSE(ReadCpuAccounts({0}, folder.path() / "none"));
}

// Field 39 of proc(5)'s stat is the CPU. A program on another CPU is not named.
TEST(BusyTest, NamesProgramsOfTheGivenCpus) {
  const TestFolder folder;
  Write(folder.path() / "stat", "cpu0 10 0 0 100 0 0 0 0 0 0\n");
  const auto stat = [](int id, int cpu) {
    return std::to_string(id) + " (p" + std::to_string(cpu) +
           ") R 1 1 1 0 -1 0 0 0 0 0 30 4 0 0 20 0 1 0 1 1 1 18446744073709551615 0 0 0 0 0 0 0 0 "
           "0 "
           "0 0 0 17 " +
           std::to_string(cpu) + " 0 0";
  };
  Write(folder.path() / "17" / "stat", stat(17, 0));
  Write(folder.path() / "18" / "stat", stat(18, 5));
  const auto accounts = ReadCpuAccounts({0}, folder.path());
  ASSERT_TRUE(accounts);
  EXPECT_EQ(accounts->processes.at(18).cpu, 5);
  const auto busy = BusyBetween({.busy = 0, .all = 10, .processes = {}}, *accounts, 1, 1);
  ASSERT_TRUE(busy);
  ASSERT_EQ(busy->processes.size(), 1u);
  EXPECT_EQ(busy->processes[0].name, "p0");
}

// Two CPUs for 100 ticks each: 150 busy, of which this process used 40, two of one name 60 and 30,
// and one that is new 10; the kernel the rest.
TEST(BusyTest, OthersAreAllButThisProcess) {
  const CpuAccounts before{.busy = 1000,
                           .all = 10'000,
                           .processes = {{1, {"own", 500}}, {2, {"load", 7}}, {3, {"load", 0}}}};
  const CpuAccounts after{
      .busy = 1150,
      .all = 10'200,
      .processes = {{1, {"own", 540}}, {2, {"load", 67}}, {3, {"load", 30}}, {4, {"new", 10}}}};
  const auto busy = BusyBetween(before, after, 2, 1);
  ASSERT_TRUE(busy);
  EXPECT_DOUBLE_EQ(busy->used, 1.1);
  ASSERT_EQ(busy->processes.size(), 2u);
  EXPECT_EQ(busy->processes[0].name, "load");
  EXPECT_EQ(busy->processes[0].count, 2);
  EXPECT_DOUBLE_EQ(busy->processes[0].used, 0.9);
  EXPECT_DOUBLE_EQ(busy->processes[1].used, 0.1);
  EXPECT_TRUE(IsBusy(*busy));
  EXPECT_EQ(TextOf(*busy), "other programs use 1.1 of 2 CPUs (load x 2 0.9, new 0.1)");
  EXPECT_FALSE(BusyBetween(after, before, 2, 1));
  EXPECT_FALSE(BusyBetween(before, before, 2, 1));
}

TEST(BusyTest, AProcessIdThatIsUsedAgainIsANewProcess) {
  const CpuAccounts before{.busy = 0, .all = 0, .processes = {{2, {"old", 1000}}}};
  const CpuAccounts after{.busy = 50, .all = 100, .processes = {{2, {"new", 20}}}};
  const auto busy = BusyBetween(before, after, 1, 1);
  ASSERT_EQ(busy->processes.size(), 1u);
  EXPECT_DOUBLE_EQ(busy->processes[0].used, 0.2);
}

TEST(BusyTest, FivePercentOfTheCpusAreQuiet) {
  EXPECT_FALSE(IsBusy({.cpus = 2, .used = 0.1, .processes = {}}));
  EXPECT_TRUE(IsBusy({.cpus = 2, .used = 0.11, .processes = {}}));
}

}  // namespace
}  // namespace topdnn
