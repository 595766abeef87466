#include "harness/counters/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace topdnn {
namespace {

TEST(Schedule, MovesAnUnconstrainedEventFromANeededCounter) {
  const std::vector<SchedulableEvent> events = {{.name = "any"}, {.name = "zero", .counters = 1}};
  const std::vector<std::size_t> both = {0, 1};
  EXPECT_TRUE(FitsAtOnce(events, both, 2));
  EXPECT_FALSE(FitsAtOnce(events, both, 1));
}

TEST(Schedule, EventsOfOneCounterUseSeparatePasses) {
  const std::vector<SchedulableEvent> events = {{.name = "slots", .fixed = true},
                                                {.name = "a", .counters = 1},
                                                {.name = "b", .counters = 1},
                                                {.name = "c"}};
  const std::vector<std::size_t> common = {0};
  const auto schedule = PlanPasses(events, 4, common);
  ASSERT_EQ(schedule.passes.size(), 2u);
  EXPECT_EQ(schedule.passes[0].events, (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(schedule.passes[1].events, (std::vector<std::size_t>{0, 2}));
}

TEST(Schedule, APairUsesAnEvenCounterAndItsNeighbour) {
  const std::vector<SchedulableEvent> events = {{.name = "flops", .paired = true},
                                                {.name = "a"},
                                                {.name = "b"},
                                                {.name = "c"},
                                                {.name = "low", .counters = 3}};
  const auto fits = [&](std::vector<std::size_t> chosen, std::size_t counters) {
    return FitsAtOnce(events, chosen, counters);
  };
  EXPECT_FALSE(fits({0}, 1));
  EXPECT_TRUE(fits({0, 1, 2}, 4));
  EXPECT_FALSE(fits({0, 1, 2, 3}, 4));
  EXPECT_TRUE(fits({0, 4}, 4));   // the pair moves to 2 and 3
  EXPECT_FALSE(fits({0, 4}, 3));  // 2 has no neighbour
  const auto schedule = PlanPasses(events, 4, {});
  EXPECT_EQ(schedule.passes.size(), 2u);
  EXPECT_TRUE(schedule.impossible.empty());
}

TEST(Schedule, ListsEventsThatNoCounterCanCount) {
  const std::vector<SchedulableEvent> events = {{.name = "far", .counters = 1u << 7},
                                                {.name = "a"}};
  const auto schedule = PlanPasses(events, 4, {});
  EXPECT_EQ(schedule.impossible, (std::vector<std::size_t>{0}));
  ASSERT_EQ(schedule.passes.size(), 1u);
}

TEST(Schedule, EachEventIsInOnePassThatFits) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t counters = 1 + random() % 8;
    std::vector<SchedulableEvent> events(1 + random() % 20);
    for (auto& event : events) {
      event.counters = random() % 3 == 0 ? random() % 256 : ~std::uint64_t{0};
      event.fixed = random() % 8 == 0;
    }
    const auto schedule = PlanPasses(events, counters, {});
    std::vector<int> seen(events.size());
    for (const auto& pass : schedule.passes) {
      EXPECT_TRUE(FitsAtOnce(events, pass.events, counters));
      for (const std::size_t i : pass.events) ++seen[i];
    }
    for (const std::size_t i : schedule.impossible) {
      const std::vector<std::size_t> alone = {i};
      EXPECT_FALSE(FitsAtOnce(events, alone, counters));
      ++seen[i];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(events.size()));
  }
}

}  // namespace
}  // namespace topdnn
