#include "harness/report/evolution.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace topdnn {
namespace {

TEST(SeriesPointsTest, AreMeansOfNeighboursAndOfTheRest) {
  std::vector<double> values = {0, 1, 2};
  EXPECT_EQ(PointsOf(values, 4).means, values);
  EXPECT_EQ(PointsOf(values, 4).per_point, 1);
  for (int i = 3; i < 11; ++i) values.push_back(i);
  const SeriesPoints points = PointsOf(values, 4);
  EXPECT_EQ(points.per_point, 3);
  EXPECT_EQ(points.means, (std::vector<double>{1, 4, 7, 9.5}));  // 0-2, 3-5, 6-8, and 9-10
  EXPECT_TRUE(PointsOf({}, 4).means.empty());
}

SequenceSamples ExampleSamples() {
  SequenceSamples samples;
  samples.events = {"cycles", "absent"};
  const auto stage = [](const std::string& name, double seconds, double cycles) {
    StageSamples own;
    own.name = name;
    own.warmup_seconds = {4 * seconds, 2 * seconds, 2 * seconds};
    own.seconds = {seconds, seconds};
    own.counts = {{.value = cycles},
                  {.value = std::nullopt, .running_fraction = 0},
                  {.value = cycles + 2},
                  {.value = std::nullopt, .running_fraction = 0}};
    return own;
  };
  samples.stages = {stage("a", 1, 10), stage("b", 2, 20), stage("c", 5, 50)};
  samples.step = stage("step", 8, 80);
  return samples;
}

TEST(EvolutionTest, PhasesAreTheGroupsOfWarmUpAndSteadyIterations) {
  const std::vector<std::string> groups = {"forward", "backward", "forward"};
  const auto phases = PhasesOf(ExampleSamples(), groups);
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[0].phase, "warm-up");
  EXPECT_EQ(phases[0].group, "forward");
  EXPECT_EQ(phases[0].iterations, 3);
  EXPECT_EQ(phases[0].seconds, 12);
  EXPECT_TRUE(phases[0].events.empty());
  EXPECT_EQ(phases[2].phase, "steady");
  EXPECT_EQ(phases[2].seconds, 6);
  EXPECT_EQ(phases[2].share, 0.75);
  EXPECT_EQ(phases[2].events.at("cycles"), 62);
  EXPECT_FALSE(phases[2].events.at("absent"));
  EXPECT_EQ(phases[3].group, "backward");
  EXPECT_EQ(phases[3].events.at("cycles"), 21);
  EXPECT_THROW(PhasesOf(ExampleSamples(), {}), std::invalid_argument);
  const std::string text = PhasesText(EvolutionJson(ExampleSamples(), phases), Style{});
  EXPECT_EQ(text,
            "\n"
            "phase    group     iterations  time s  of the step %\n"
            "warm-up  forward            3   12.0            75.0\n"
            "warm-up  backward           3    4.00           25.0\n"
            "steady   forward            2    6.00           75.0\n"
            "steady   backward           2    2.00           25.0\n");
}

TEST(EvolutionTest, TheJsonHasEachStagesSeries) {
  const std::vector<std::string> groups = {"forward", "backward", "forward"};
  SequenceSamples samples = ExampleSamples();
  samples.stages[0].seconds.assign(5000, 1.0);
  const auto json = EvolutionJson(samples, PhasesOf(samples, groups), 100);
  ASSERT_EQ(json["stages"].size(), 4u);
  EXPECT_EQ(json["phases"].size(), 4u);
  EXPECT_LE(json["stages"][0]["seconds"].size(), 100u);
  EXPECT_EQ(json["stages"][0]["values_per_point"], 50);  // of 5000 in 100 points
  EXPECT_EQ(json["stages"][3]["name"], "step");
  EXPECT_EQ(json["stages"][1]["warmup_seconds"], (nlohmann::ordered_json{8, 4, 4}));
  EXPECT_EQ(json["stages"][1]["events"]["cycles"], (nlohmann::ordered_json{20, 22}));
  EXPECT_TRUE(json["stages"][1]["events"]["absent"][0].is_null());
}

}  // namespace
}  // namespace topdnn
