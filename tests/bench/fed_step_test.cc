// Steps that are fed by their input pipeline: their parts, and where a slow source shows.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/profile/fed_steps.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(FedStepTest, TheMarksDivideTheStep) {
  using namespace std::chrono_literals;
  FedStepMarks marks;
  marks.begin = FedStepMarks::Clock::time_point(1s);
  marks.arrived = marks.begin + 300ms;
  marks.computes = marks.arrived + 20ms;
  marks.computed = marks.computes + 600ms;
  const FedStepTimes times = marks.Until(marks.computed + 80ms);
  EXPECT_DOUBLE_EQ(times.input_wait, 0.3);
  EXPECT_DOUBLE_EQ(times.compute, 0.6);
  EXPECT_DOUBLE_EQ(times.other, 0.1);
}

nlohmann::json FedStepOf(const std::vector<std::string>& options) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "out.json";
  std::vector<std::string> arguments = {
      "profile", "lenet5",     "--train",   "--batch", "16",           "--threads",
      "1",       "--counters", "clock",     "--json",  file.string(),  "--iterations",
      "4",       "--data",     "synthetic", "--quiet", "--no-isolated"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = RunProgram(arguments);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  return ReadJson(file).at("fed_step");
}

double Mean(const nlohmann::json& fed, const char* part) { return fed.at(part).at("mean"); }

void ExpectPartsOfTheStep(const nlohmann::json& fed) {
  const double sum = Mean(fed, "compute") + Mean(fed, "input_wait") + Mean(fed, "other");
  EXPECT_NEAR(sum, Mean(fed, "step"), 1e-9 + 1e-6 * sum);
  for (const char* part : {"compute", "input_wait", "other"}) {
    EXPECT_LE(fed.at(part).at("seconds").at("median"), fed.at("step").at("seconds").at("median"));
  }
}

TEST(FedStepTest, ASlowSourceIsInputWait) {
  constexpr double kRate = 80;  // images per second: 200 ms for a batch of 16
  const nlohmann::json fed = FedStepOf({"--source-rate", "80", "--prefetch", "1"});
  ExpectPartsOfTheStep(fed);
  EXPECT_GE(Mean(fed, "step"), 0.99 * 16 / kRate);
  EXPECT_GT(Mean(fed, "input_wait"), Mean(fed, "compute") + Mean(fed, "other"));
}

TEST(FedStepTest, WithoutPrefetchTheComputingThreadPreparesTheBatch) {
  const nlohmann::json fed = FedStepOf({"--prefetch", "0", "--augment", "crop,flip"});
  ExpectPartsOfTheStep(fed);
  EXPECT_EQ(fed.at("prefetch"), 0);
  EXPECT_EQ(fed.at("loaders"), 0);
  EXPECT_EQ(fed.at("augmentation"), "crop,flip");
  EXPECT_GT(Mean(fed, "input_wait"), 0);
}

TEST(FedStepTest, EveryLoaderHasABatch) {
  EXPECT_EQ(FedStepOf({"--loaders", "3"}).at("prefetch"), 3);
}

}  // namespace
}  // namespace topdnn
