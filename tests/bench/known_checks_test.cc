#include "bench/validation/known_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/validation/step_check.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

nlohmann::ordered_json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::ordered_json::parse(file);
}

TEST(KnownChecksTest, TheKeyHasWhatDecidesTheChecksAndNotTheBatch) {
  WorkloadOptions options;
  options.network = "googlenet";
  options.threads = 1;
  const auto key = KeyOfChecks(options, true);
  WorkloadOptions other = options;
  other.batch = 7;
  EXPECT_EQ(KeyOfChecks(other, true), key);
  EXPECT_NE(KeyOfChecks(options, false), key);
  other.dtype = "bf16";
  EXPECT_NE(KeyOfChecks(other, true), key);
  // (this program and its libraries have build IDs)
  EXPECT_GE(key.at("build_ids").size(), 2u);
  // Files that change without the program.
  other.network = "some.onnx";
  EXPECT_TRUE(KeyOfChecks(other, true).is_null());
  other = options;
  other.weights = "w.npz";
  EXPECT_TRUE(KeyOfChecks(other, true).is_null());
}

TEST(KnownChecksTest, OnlyChecksThatAgreeAreKept) {
  const TestFolder folder;
  const std::string path = folder.path() / "checks";
  const nlohmann::ordered_json key = {{"network", "n"}};
  NetworkChecks checks = {.batch = 2, .image = "3x8x8", .stages = {}};
  checks.stages.push_back(
      {.name = "conv1", .pass = "forward", .implementation = "jit", .check = {}});
  checks.stages[0].check.agrees = false;
  WriteKnownChecks(path, key, checks);
  EXPECT_FALSE(ReadKnownChecks(path, key));
  checks.stages[0].check.agrees = true;
  WriteKnownChecks(path, key, checks);
  const auto read = ReadKnownChecks(path, key);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->batch, 2);
  EXPECT_EQ(read->image, "3x8x8");
  ASSERT_EQ(read->stages.size(), 1u);
  EXPECT_EQ(read->stages[0].name, "conv1");
  EXPECT_EQ(read->stages[0].pass, "forward");
  EXPECT_EQ(read->stages[0].implementation, "jit");
  EXPECT_TRUE(read->stages[0].check.agrees);
  EXPECT_FALSE(ReadKnownChecks(path, {{"network", "m"}}));
  // (the only file)
  const std::filesystem::path file = std::filesystem::directory_iterator(path)->path();
  for (const char* damaged : {"", "{", "[]", "{\"key\": {\"network\": \"n\"}}"}) {
    std::ofstream(file) << damaged;
    EXPECT_FALSE(ReadKnownChecks(path, key)) << damaged;
  }
}

WorkloadOptions OnOneThread(const char* network) {
  WorkloadOptions options;
  options.network = network;
  options.threads = 1;
  return options;
}

StepChecks ChecksOf(WorkloadOptions options, std::int64_t batch, const std::string& folder) {
  options.batch = batch;
  options.data = "synthetic";
  Workload workload = MakeWorkload(options, false);
  TrainingImages(options, workload).FillNext(*workload.plan);
  StepChecks checks = CheckStep(options, false, *workload.plan, folder);
  EXPECT_EQ(checks.stages.size(), workload.plan->stages().size());
  for (const StageCheck& stage : checks.stages) EXPECT_TRUE(stage.agrees) << stage.reason;
  return checks;
}

std::vector<std::filesystem::path> FilesIn(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  return files;
}

// Any kernel that writes zeros agrees on an input of zeros, so the check is noted and made again.
TEST(KnownChecksTest, ChecksOfZerosAreNotKept) {
  const TestFolder folder;
  const std::string path = folder.path() / "checks";
  WorkloadOptions options = OnOneThread("lenet5");
  options.batch = 2;
  const Workload workload = MakeWorkload(options, false);
  const StepChecks checks = CheckStep(options, false, *workload.plan, path);
  EXPECT_TRUE(checks.stages.front().agrees);
  EXPECT_TRUE(checks.stages.front().mostly_zero);
  EXPECT_THAT(checks.note, HasSubstr("99 % zeros"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A network of 6.3 GMAC is checked on smaller images, which another batch shares.
TEST(KnownChecksTest, AnEqualNetworkOfAnotherBatchUsesThem) {
  const TestFolder folder;
  const std::string path = folder.path() / "checks";
  const WorkloadOptions options = OnOneThread("googlenet");
  EXPECT_THAT(ChecksOf(options, 4, path).note,
              HasSubstr("checked against the reference on 2 images of "));
  ASSERT_EQ(FilesIn(path).size(), 2u);  // of the plan's reorders, and of the smaller network
  for (const auto& file : FilesIn(path)) {
    nlohmann::ordered_json edited = ReadJson(file);
    for (auto& stage : edited["stages"]) stage["implementation"] = "another";
    std::ofstream(file) << edited;
  }
  // The note proves that the file is used: it counts stages whose implementation differs.
  EXPECT_THAT(ChecksOf(options, 3, path).note, HasSubstr(" stages by another implementation"));
  EXPECT_EQ(FilesIn(path).size(), 3u);
}

TEST(KnownChecksTest, AnEqualPlanUsesThemAndAnotherDoesNot) {
  const TestFolder folder;
  const std::string path = folder.path() / "checks";
  const WorkloadOptions options = OnOneThread("lenet5");
  ChecksOf(options, 2, path);
  ASSERT_EQ(FilesIn(path).size(), 1u);
  const std::filesystem::path file = FilesIn(path).front();
  nlohmann::ordered_json known = ReadJson(file);
  // A file that is used is not written again.
  known["image"] = "used";
  std::ofstream(file) << known;
  ChecksOf(options, 2, path);
  EXPECT_EQ(ReadJson(file)["image"], "used");
  ChecksOf(options, 3, path);
  EXPECT_EQ(FilesIn(path).size(), 2u);
  // Checks of another implementation, or of another build, are made again.
  known["stages"][0]["implementation"] = "another";
  std::ofstream(file) << known;
  ChecksOf(options, 2, path);
  EXPECT_NE(ReadJson(file)["image"], "used");
  known = ReadJson(file);
  known["key"]["build_ids"] = {"0123"};
  known["image"] = "used";
  std::ofstream(file) << known;
  ChecksOf(options, 2, path);
  EXPECT_NE(ReadJson(file)["image"], "used");
}

}  // namespace
}  // namespace topdnn
