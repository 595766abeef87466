#include <gtest/gtest.h>

#include "harness/counters/replay.h"

namespace topdnn {
namespace {

Recording Example() {
  return {.machine = {{"cpu", "x"}},
          .events = {"cycles", "slots"},
          .regions = {{"conv1", {{123456789012345.0, 1}, {std::nullopt, 0}}},
                      {"pool1", {{0.0, 0.5}, {7.0, 1}}}}};
}

TEST(Replay, GivesBackWhatWasRecorded) {
  const Recording read = ParseRecording(FormatRecording(Example()), "r");
  EXPECT_EQ(read.machine, Example().machine);
  EXPECT_EQ(read.events, Example().events);
  ASSERT_EQ(read.regions.size(), 2u);
  EXPECT_EQ(read.regions[0].name, "conv1");
  EXPECT_EQ(read.regions[0].counts[0].value, 123456789012345.0);
  EXPECT_FALSE(read.regions[0].counts[1].value);
  EXPECT_EQ(read.regions[1].counts[0].value, 0);
  EXPECT_EQ(read.regions[1].counts[0].running_fraction, 0.5);
  EXPECT_EQ(FormatRecording(read), FormatRecording(Example()));
}

TEST(Replay, RefusesEveryCutAndEveryWrongPart) {
  const std::string good = FormatRecording(Example());
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    EXPECT_THROW(ParseRecording(good.substr(0, size), "r"), ReplayError) << size;
  }
  const auto root = nlohmann::ordered_json::parse(good);
  for (const char* key : {"topdnn_counts", "machine", "events", "regions"}) {
    auto without = root;
    without.erase(key);
    EXPECT_THROW(ParseRecording(without.dump(), "r"), ReplayError) << key;
    auto mistyped = root;
    mistyped[key] = "x";
    EXPECT_THROW(ParseRecording(mistyped.dump(), "r"), ReplayError) << key;
  }
  for (const char* patch :
       {R"([{"op": "replace", "path": "/topdnn_counts", "value": 2}])",
        R"([{"op": "replace", "path": "/events/1", "value": "cycles"}])",
        R"([{"op": "remove", "path": "/events/1"}])",
        R"([{"op": "replace", "path": "/regions/0/counts/0", "value": -1}])",
        R"([{"op": "replace", "path": "/regions/0/counts/0", "value": "1"}])",
        R"([{"op": "remove", "path": "/regions/1/counts/0"}])",
        R"([{"op": "replace", "path": "/regions/1/running_fraction/0", "value": 1.5}])",
        R"([{"op": "replace", "path": "/regions/1", "value": 3}])"}) {
    const auto wrong = root.patch(nlohmann::ordered_json::parse(patch));
    EXPECT_THROW(ParseRecording(wrong.dump(), "r"), ReplayError) << patch;
  }
}

}  // namespace
}  // namespace topdnn
