#include "bench/validation/known_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

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
  other.variants.emplace();
  EXPECT_NE(KeyOfChecks(other, true), key);
  other = options;
  other.weights = "w.npz";
  EXPECT_TRUE(KeyOfChecks(other, true).is_null());
}

// The file in the cache, and its entries.
class ChecksFile {
 public:
  const CacheFolder& cache() const { return cache_; }
  nlohmann::ordered_json Entries() const {
    const auto text = cache_.Read(kChecksFile);
    return text ? nlohmann::ordered_json::parse(*text) : nlohmann::ordered_json::array();
  }
  void Write(const std::string& text) const {
    cache_.Update(kChecksFile, [&](const auto&) { return text; });
  }

 private:
  TestFolder folder_;
  CacheFolder cache_{folder_.path() / "topdnn"};
};

std::vector<CheckedStage> OneCheck(bool agrees) {
  CheckedStage stage = {.name = "conv1", .pass = "forward", .implementation = "jit", .check = {}};
  stage.check.agrees = agrees;
  return {stage};
}

TEST(KnownChecksTest, OnlyChecksThatAgreeAreKept) {
  const ChecksFile file;
  const nlohmann::ordered_json key = {{"network", "n"}};
  WriteKnownChecks(file.cache(), key, OneCheck(false));
  EXPECT_FALSE(ReadKnownChecks(file.cache(), key));
  WriteKnownChecks(file.cache(), key, OneCheck(true));
  const auto read = ReadKnownChecks(file.cache(), key);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at(0).name, "conv1");
  EXPECT_EQ(read->at(0).pass, "forward");
  EXPECT_EQ(read->at(0).implementation, "jit");
  EXPECT_TRUE(read->at(0).check.agrees);
  EXPECT_FALSE(ReadKnownChecks(file.cache(), {{"network", "m"}}));
  // What disagrees later is no longer known.
  WriteKnownChecks(file.cache(), key, OneCheck(false));
  EXPECT_FALSE(ReadKnownChecks(file.cache(), key));
  for (const char* damaged : {"", "{", "7", "[{\"key\": {\"network\": \"n\"}}]", "[3]"}) {
    file.Write(damaged);
    EXPECT_FALSE(ReadKnownChecks(file.cache(), key)) << damaged;
  }
  WriteKnownChecks(file.cache(), key, OneCheck(true));
  EXPECT_TRUE(ReadKnownChecks(file.cache(), key));
}

TEST(KnownChecksTest, TheLatestKeysAreKept) {
  const ChecksFile file;
  for (int i = 0; i < 40; ++i) WriteKnownChecks(file.cache(), {{"network", i}}, OneCheck(true));
  WriteKnownChecks(file.cache(), {{"network", 20}}, OneCheck(true));
  EXPECT_EQ(file.Entries().size(), 32u);
  EXPECT_EQ(file.Entries()[0]["key"]["network"], 20);
  EXPECT_FALSE(ReadKnownChecks(file.cache(), {{"network", 7}}));
  EXPECT_TRUE(ReadKnownChecks(file.cache(), {{"network", 8}}));
  EXPECT_TRUE(ReadKnownChecks(file.cache(), {{"network", 39}}));
}

TEST(KnownChecksTest, ASampleHasDifferentLayersAtRandom) {
  std::vector<CheckedStage> stages;
  for (int i = 0; i < 60; ++i) {
    stages.push_back({.name = "layer" + std::to_string(i / 3)});  // 20 layers of 3 passes
  }
  std::set<std::string> seen;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::set<std::string> sample = SampleOfLayers(stages, 4, seed);
    EXPECT_EQ(sample.size(), 4u);
    seen.insert(sample.begin(), sample.end());
  }
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_EQ(SampleOfLayers(stages, 100, 1).size(), 20u);
}

WorkloadOptions OnOneThread(const char* network) {
  WorkloadOptions options;
  options.network = network;
  options.threads = 1;
  return options;
}

StepChecks ChecksOf(WorkloadOptions options, std::int64_t batch, bool training,
                    const CacheFolder& cache) {
  options.batch = batch;
  options.data = "synthetic";
  Workload workload = MakeWorkload(options, training);
  TrainingImages(options, workload).FillNext(*workload.plan);
  StepChecks checks = CheckStep(options, training, *workload.plan, cache);
  EXPECT_EQ(checks.stages.size(), workload.plan->stages().size());
  for (const StageCheck& stage : checks.stages) EXPECT_TRUE(stage.agrees) << stage.reason;
  return checks;
}

// Any kernel that writes zeros agrees on an input of zeros, so the check is noted and made again.
TEST(KnownChecksTest, ChecksOfZerosAreNotKept) {
  const ChecksFile file;
  WorkloadOptions options = OnOneThread("lenet5");
  options.batch = 2;
  const Workload workload = MakeWorkload(options, false);
  const StepChecks checks = CheckStep(options, false, *workload.plan, file.cache());
  EXPECT_TRUE(checks.stages.front().agrees);
  EXPECT_TRUE(checks.stages.front().mostly_zero);
  EXPECT_THAT(checks.note, HasSubstr("99 % zeros"));
  EXPECT_EQ(file.Entries().size(), 0u);
}

// A network of 6.3 GMAC is checked on smaller images, which another batch shares.
TEST(KnownChecksTest, AnEqualNetworkOfAnotherBatchUsesThem) {
  const ChecksFile file;
  const WorkloadOptions options = OnOneThread("googlenet");
  const std::string first = ChecksOf(options, 4, false, file.cache()).note;
  EXPECT_THAT(first, HasSubstr("checked against the reference on 2 images of "));
  EXPECT_THAT(first, Not(HasSubstr("earlier run")));
  EXPECT_EQ(file.Entries().size(), 2u);  // of the plan's reorders, and of the smaller network
  EXPECT_THAT(ChecksOf(options, 3, false, file.cache()).note,
              ContainsRegex("in an earlier run of this program; [1-9] of [0-9]+ stages were"));
  EXPECT_EQ(file.Entries().size(), 3u);
}

// A sample has complete layers, so that it has what backward passes read.
TEST(KnownChecksTest, AnEqualPlanUsesThemAndAnotherDoesNot) {
  const ChecksFile file;
  const WorkloadOptions options = OnOneThread("lenet5");
  const auto is_known = [&](std::int64_t batch) {
    return ChecksOf(options, batch, true, file.cache()).note.find("earlier run") !=
           std::string::npos;
  };
  EXPECT_FALSE(is_known(2));
  for (int repeat = 0; repeat < 5; ++repeat) EXPECT_TRUE(is_known(2));
  EXPECT_EQ(file.Entries().size(), 1u);
  EXPECT_FALSE(is_known(3));
  EXPECT_EQ(file.Entries().size(), 2u);
  // Checks of another implementation, or of another build, are made again.
  nlohmann::ordered_json entries = file.Entries();
  entries[0]["stages"][0][2] = "another";
  file.Write(entries.dump());
  EXPECT_FALSE(is_known(3));
  EXPECT_TRUE(is_known(3));
  entries = file.Entries();
  entries[0]["key"]["build_ids"] = {"0123"};
  file.Write(entries.dump());
  EXPECT_FALSE(is_known(3));
}

}  // namespace
}  // namespace topdnn
