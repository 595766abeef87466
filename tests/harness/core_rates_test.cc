// The rates of a core: joined over a run, and to JSON and back.

#include "harness/probes/core_rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/harness/quiet_core_rates.h"

namespace topdnn {
namespace {

TEST(CoreRates, RatesBeforeAndAfterARunAreJoined) {
  CoreRates before = QuietRates();
  CoreRates after = QuietRates();
  before.spreads = {{"slots", 0.01}, {"link_cycles", 0.03}};
  after.spreads = {{"slots", 0.02}, {"link_cycles", 0.01}};
  after.slots = 5.31;  // a tenth less
  after.link_cycles = 12;
  after.stores.reset();
  before.threads_per_core = after.threads_per_core = 2;
  const CoreRates joined = Joined(before, after);
  EXPECT_EQ(joined.slots, 5.9);
  EXPECT_EQ(joined.threads_per_core, 2);
  EXPECT_NEAR(joined.spreads.at("slots"), 0.1, 1e-12);
  EXPECT_EQ(joined.link_cycles, 11);
  EXPECT_NEAR(joined.spreads.at("link_cycles"), 1.0 / 12, 1e-12);
  EXPECT_EQ(joined.fp[kPacked512], 3);
  EXPECT_FALSE(joined.stores);
  EXPECT_FALSE(joined.spreads.contains("loads"));  // absent in both
}

TEST(CoreRates, GoToJsonAndBack) {
  CoreRates rates = QuietRates();
  rates.stores.reset();
  rates.threads_per_core = 2;
  const CoreRates read = CoreRatesFromJson(ToJson(rates));
  EXPECT_EQ(read.slots, rates.slots);
  EXPECT_EQ(read.threads_per_core, 2);
  EXPECT_EQ(read.fp, rates.fp);
  EXPECT_FALSE(read.stores);
  EXPECT_EQ(read.spreads, rates.spreads);
  nlohmann::ordered_json old = ToJson(rates);
  old.erase("spreads");  // as earlier versions recorded them
  old.erase("threads_per_core");
  EXPECT_EQ(CoreRatesFromJson(old).threads_per_core, 1);
  EXPECT_TRUE(CoreRatesFromJson(old).spreads.empty());
  EXPECT_EQ(CoreRatesFromJson(old).loads, rates.loads);
}

}  // namespace
}  // namespace topdnn
