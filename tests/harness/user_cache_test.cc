// The cache folder and the remembered best rates.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/user_cache/cache_folder.h"
#include "harness/user_cache/remembered_best.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

std::string Always(const std::optional<std::string>&) { return "text\n"; }

TEST(CacheFolder, IsOnlyForItsOwner) {
  const TestFolder home;
  const CacheFolder folder(home.path() / ".cache" / "topdnn");
  EXPECT_EQ(folder.Update("selection.json", Always), "");
  EXPECT_EQ(ModeOf(home.path() / ".cache"), 0700U);
  EXPECT_EQ(ModeOf(folder.path()), 0700U);
  EXPECT_EQ(ModeOf(folder.path() / "selection.json"), 0600U);
  EXPECT_EQ(folder.Read("selection.json"), "text\n");
  // A folder that an earlier version created for everyone.
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(folder.Update("selection.json", Always), "");
  EXPECT_EQ(ModeOf(folder.path()), 0700U);
}

TEST(CacheFolder, DoesNotChangeFilesOfOthers) {
  const TestFolder home;
  const std::filesystem::path folder = home.path() / "shared";
  std::filesystem::create_directory(folder);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(CacheFolder(folder).Update("best.json", Always), "");
  EXPECT_EQ(ModeOf(folder), 0755U);
}

TEST(CacheFolder, GivesTheReasonIfNothingIsStored) {
  EXPECT_THAT(CacheFolder({}).Update("best.json", Always), HasSubstr("no cache folder"));
  const TestFolder home;
  const auto file = home.Write("file", "");
  EXPECT_THAT(CacheFolder(file / "topdnn").Update("best.json", Always), HasSubstr("file"));
  const CacheFolder folder(home.path() / "topdnn");
  ASSERT_EQ(folder.Update("best.json", Always), "");
  const auto fail = [](const std::optional<std::string>&) -> std::string {
    throw std::runtime_error("cannot be edited");
  };
  EXPECT_EQ(folder.Update("best.json", fail), "cannot be edited");
  EXPECT_EQ(folder.Read("best.json"), "text\n");
}

TEST(CacheFolder, WaitsForTheLockForABoundedTime) {
  const TestFolder home;
  const CacheFolder folder(home.path() / "topdnn", std::chrono::milliseconds(50));
  ASSERT_EQ(folder.Update("best.json", Always), "");
  const int lock = open((folder.path() / ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_THAT(folder.Update("best.json", [](const auto&) { return std::string("other"); }),
              HasSubstr("other processes held the lock"));
  EXPECT_EQ(folder.Read("best.json"), "text\n");
  close(lock);
}

TEST(CacheFolder, KeepsTheEntriesOfManyProcesses) {
  constexpr int kProcesses = 8;
  constexpr int kEntries = 25;
  const TestFolder home;
  // Long, because other tests may delay the process that holds the lock.
  const CacheFolder folder(home.path() / "topdnn", std::chrono::minutes(5));
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int entry = 0; entry < kEntries; ++entry) {
        good = good && folder
                           .Update("best.json",
                                   [&](const std::optional<std::string>& text) {
                                     return text.value_or("") +
                                            std::to_string(process * 1000 + entry) + "\n";
                                   })
                           .empty();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::istringstream lines(folder.Read("best.json").value_or(""));
  std::set<int> entries;
  for (int entry = 0; lines >> entry;) entries.insert(entry);
  EXPECT_EQ(entries.size(), static_cast<std::size_t>(kProcesses * kEntries));
}

TEST(CacheFolder, ForgetsOnlyItsOwnFiles) {
  const TestFolder home;
  const CacheFolder folder(home.path() / "topdnn");
  EXPECT_THAT(folder.Forget(), IsEmpty());
  ASSERT_EQ(folder.Update("best.json", Always), "");
  ASSERT_EQ(folder.Update("selection.json", Always), "");
  home.Write("topdnn/selection.json.123.tmp", "the rest of a killed process");
  home.Write("topdnn/notes.txt", "the user's");
  EXPECT_THAT(folder.Forget(),
              UnorderedElementsAre((folder.path() / "best.json").string(),
                                   (folder.path() / "selection.json").string(),
                                   (folder.path() / "selection.json.123.tmp").string()));
  EXPECT_EQ(folder.Read("notes.txt"), "the user's");
  std::filesystem::remove(folder.path() / "notes.txt");
  ASSERT_EQ(folder.Update("best.json", Always), "");
  EXPECT_EQ(folder.Forget().size(), 2U);  // including the folder
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

std::optional<double> BestAfter(const std::vector<double>& rates, double noise = 0.05) {
  RememberedBest known;
  for (const double rate : rates) Remember({{"r", rate, noise}}, known);
  return known["r"].best;
}

TEST(Remember, KeepsTheHighestRateThatASecondRunConfirms) {
  EXPECT_FALSE(BestAfter({100}));
  EXPECT_EQ(BestAfter({100, 98}), 98);
  EXPECT_EQ(BestAfter({100, 98, 103}), 103);
  EXPECT_EQ(BestAfter({100, 98, 60}), 98);
  // 105 is too far above 95.1, and 100 has already confirmed 95.1.
  EXPECT_EQ(BestAfter({100, 95.1, 105}), 95.1);
}

TEST(Remember, ForgetsAnImplausibleValue) {
  EXPECT_EQ(BestAfter({900, 100, 99}), 99);    // at first
  EXPECT_EQ(BestAfter({100, 100, 900}), 100);  // later
  EXPECT_EQ(BestAfter({100, 100, 900, 100}), 100);
  EXPECT_EQ(BestAfter({100, 100, 120, 119}), 119);  // two runs agree
  EXPECT_EQ(BestAfter({100, 100, 120, 60, 150}), 100);
  EXPECT_EQ(BestAfter({100, 100, 125}, 0.30), 125);                 // within the noise of memory
  EXPECT_EQ(BestAfter({100, 100, 131, 130, 140, 183}, 0.30), 140);  // 131 and 183 agree
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(BestAfter({100, 100, nan, -1, 0}), 100);
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(BestAfter({100, 100, infinite, infinite}), 100);
}

Ceiling Made(const char* operands, double value, Status status = Status::kOk) {
  Ceiling ceiling;
  ceiling.name = std::string("read/") + operands;
  ceiling.operands = operands;
  ceiling.unit = "B/s";
  ceiling.threads = 2;
  ceiling.value = value;
  ceiling.verdict = {status, ""};
  return ceiling;
}

TEST(RatesOf, AreThoseWithVerdictOk) {
  Ceiling latency = Made("l2", 1e-9);
  latency.unit = "s";
  const auto seen = RatesOf(std::vector<Ceiling>{Made("l1", 5), Made("llc", 6, Status::kDegraded),
                                                 Made("dram", 7), latency});
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].name, "read/l1/t2");
  EXPECT_EQ(seen[0].rate, 5);
  EXPECT_EQ(seen[1].name, "read/dram/t2");
  EXPECT_GT(seen[1].noise, seen[0].noise);
}

TEST(JudgeAgainstBest, MarksCeilingsBelowNineTenths) {
  const RememberedBest known = {{"read/l1/t2", {100e9, {}}}, {"read/dram/t2", {100e9, {}}}};
  EXPECT_EQ(JudgeAgainstBest(Made("l1", 91e9), known), "");
  EXPECT_THAT(JudgeAgainstBest(Made("l1", 71e9), known),
              HasSubstr("the machine reaches 71 % of its own best"));
  EXPECT_EQ(JudgeAgainstBest(Made("dram", 71e9), known), "");  // memory's noise
  EXPECT_NE(JudgeAgainstBest(Made("dram", 65e9), known), "");
  EXPECT_EQ(JudgeAgainstBest(Made("l2", 1), known), "");
  Ceiling latency = Made("l1", 1);
  latency.unit = "s";
  EXPECT_EQ(JudgeAgainstBest(latency, known), "");
  EXPECT_EQ(JudgeAgainstBest(Made("l1", 1), {{"read/l1/t2", {{}, 100e9}}}), "");  // unconfirmed
  std::vector<Ceiling> ceilings = {Made("l1", 71e9), Made("l1", 99e9)};
  MarkAgainstBest(known, ceilings);
  EXPECT_EQ(ceilings[0].verdict.status, Status::kDegraded);
  EXPECT_EQ(ceilings[1].verdict.status, Status::kOk);
}

TEST(RememberedBestFile, SeparatesMachines) {
  const TestFolder home;
  const CacheFolder folder(home.path() / "topdnn");
  const auto seen = RatesOf(QuietReading{100.0, 50.0, 600.0}, 2);
  ASSERT_EQ(UpdateRememberedBest(folder, "a", seen), "");
  EXPECT_FALSE(BestQuietReading(ReadRememberedBest(folder, "a"), 2).flops_per_second);
  ASSERT_EQ(UpdateRememberedBest(folder, "a", seen), "");
  const QuietReading best = BestQuietReading(ReadRememberedBest(folder, "a"), 2);
  EXPECT_EQ(best.flops_per_second, 100);
  EXPECT_EQ(best.bytes_per_second, 50);
  EXPECT_EQ(best.instructions_per_second, 600);
  EXPECT_FALSE(BestQuietReading(ReadRememberedBest(folder, "a"), 1).flops_per_second);
  EXPECT_THAT(ReadRememberedBest(folder, "b"), IsEmpty());
}

TEST(RememberedBestFile, IsReplacedIfItIsInvalid) {
  const TestFolder home;
  const CacheFolder folder(home.path() / "topdnn");
  for (const char* text :
       {"", "{", "[]", "null", "{\"schema\": 2}", "{\"schema\": 1, \"machines\": 3}",
        "{\"schema\": 2, \"machines\": {\"a\": {\"rates\": {\"r\": {\"best\": 7}}}}}",
        "{\"schema\": 1, \"machines\": {\"a\": {\"rates\": {\"r\": {\"best\": -7}}}}}",
        "{\"schema\": 1, \"machines\": {\"a\": 3}}",
        "{\"schema\": 1, \"machines\": {\"a\": {\"rates\": [1]}}}",
        "{\"schema\": 1, \"machines\": {\"a\": {\"rates\": {\"r\": {\"best\": \"x\"}}}}}"}) {
    home.Write("topdnn/best.json", text);
    EXPECT_FALSE(ReadRememberedBest(folder, "a")["r"].best) << text;
    EXPECT_EQ(UpdateRememberedBest(folder, "a", {{"r", 5, 0.05}}), "") << text;
    EXPECT_EQ(ReadRememberedBest(folder, "a")["r"].unconfirmed, 5) << text;
  }
}

TEST(RememberedBestFile, KeepsTheMostRecentMachines) {
  const TestFolder home;
  const CacheFolder folder(home.path() / "topdnn");
  nlohmann::json json = {{"schema", 1}, {"machines", nlohmann::json::object()}};
  for (int i = 0; i < 20; ++i) {
    json["machines"]["m" + std::to_string(i)] = {{"seen", 1000 + i},
                                                 {"rates", {{"r", {{"best", 1.0}}}}}};
  }
  home.Write("topdnn/best.json", json.dump());
  ASSERT_EQ(UpdateRememberedBest(folder, "new", {{"r", 5, 0.05}}), "");
  const auto kept = nlohmann::json::parse(*folder.Read("best.json")).at("machines");
  EXPECT_EQ(kept.size(), 16U);
  EXPECT_TRUE(kept.contains("new"));
  EXPECT_FALSE(kept.contains("m0"));
  EXPECT_TRUE(kept.contains("m19"));
}

TEST(MachineKey, ContainsWhatARateDependsOn) {
  Cpu cpu;
  cpu.vendor = "V";
  cpu.family = 6;
  const auto key = [&](const char* libraries, const char* boot, std::vector<int> allowed) {
    return MachineKey(cpu, {}, allowed, libraries, boot);
  };
  const std::string one = key("l1", "b1", {0, 1});
  EXPECT_NE(one, key("l2", "b1", {0, 1}));
  EXPECT_NE(one, key("l1", "b2", {0, 1}));
  EXPECT_NE(one, key("l1", "b1", {0}));
  const auto with_avx2 = [&](bool usable) {
    return MachineKey(cpu, {{Isa::kAvx2, usable, ""}}, {0, 1}, "l1", "b1");
  };
  EXPECT_NE(with_avx2(true), with_avx2(false));
  cpu.hypervisor = "KVM";
  EXPECT_NE(one, key("l1", "b1", {0, 1}));
  EXPECT_EQ(ThisMachineKey("x"), ThisMachineKey("x"));
}

}  // namespace
}  // namespace topdnn
