// 2,000 files in the formats, options and versions of perf-stat(1), from known counts: the nodes
// are the known ones. Files that contradict themselves are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/topdown/event_file.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/topdown_reading.h"
#include "tests/harness/generated_cores.h"
#include "tests/harness/generated_event_files.h"

namespace topdnn {
namespace {

const GeneratedCore& CoreOf(int round) {
  return GeneratedCores()[static_cast<std::size_t>(round) % GeneratedCores().size()];
}

void ExpectNodes(const TopdownResult& result, const KnownNodes& expected) {
  std::size_t found = 0;
  for (const auto& [name, value] : result.level1) {
    const auto known = expected.find(name);
    if (known == expected.end()) {
      EXPECT_FALSE(value) << name;
      continue;
    }
    ++found;
    ASSERT_TRUE(value) << name;
    EXPECT_NEAR(*value, known->second, 1e-9) << name;
  }
  EXPECT_EQ(found, expected.size());
}

// Neoverse N1 has no slots.
TEST(GeneratedEventFiles, EveryTableWithSlotsHasACore) {
  EXPECT_EQ(GeneratedCores().size() + 1, TopdownTables().size());
  for (const GeneratedCore& core : GeneratedCores()) FindTopdownTable(core.cpu);
}

TEST(GeneratedEventFiles, GiveTheKnownNodes) {
  std::mt19937_64 random(46);
  for (int round = 0; round < 2000 && !testing::Test::HasFailure(); ++round) {
    const GeneratedCore& core = CoreOf(round);
    const FileShape shape = RandomShape(core, random);
    const GeneratedFile file =
        EventFileWriter(shape, random()).Write(RandomCounts(core, shape, random));
    SCOPED_TRACE(Describe(core, shape, file.text));
    const RecordedCounts recorded = ParseRecordedCounts(file.text, "f");
    EXPECT_EQ(recorded.Groups().size(), shape.groups.size());
    EXPECT_EQ(recorded.means, shape.repeated);
    for (const auto& [group, known] : file.counts) {
      CountSelection selection;
      if (!shape.groups.empty()) selection.group = group;
      const TopdownReading reading = ReadTopdown(FindTopdownTable(core.cpu), recorded, selection);
      EXPECT_EQ(reading.contradiction, "");
      ExpectNodes(reading.result, core.nodes(core.width, known));
      EXPECT_EQ(std::any_of(reading.notes.begin(), reading.notes.end(),
                            [](const std::string& note) {
                              return note.find("% of the time") != std::string::npos;
                            }),
                shape.running < 50);
    }
  }
}

// The denominator of another region makes level 1 impossible, or a node absent; never another
// value.
TEST(GeneratedEventFiles, ContradictionsAreRefused) {
  std::mt19937_64 random(47);
  for (int round = 0; round < 600; ++round) {
    const GeneratedCore& core = CoreOf(round);
    if (core.has_rest) continue;
    FileShape shape = RandomShape(core, random);
    shape.groups.clear();
    EventCounts counts = core.counts(core.width, random);
    counts[0].second = round % 4 < 2 ? counts[0].second * 4 : counts[0].second / 2;
    const GeneratedFile file = EventFileWriter(shape, random()).Write({{"", counts}});
    const TopdownReading reading =
        ReadTopdown(FindTopdownTable(core.cpu), ParseRecordedCounts(file.text, "f"), {});
    EXPECT_NE(reading.contradiction, "") << Describe(core, shape, file.text);
  }
}

// A file that was cut at any byte gives the known nodes, absent ones, or a refusal.
TEST(GeneratedEventFiles, ACutFileGivesNoOtherValue) {
  std::mt19937_64 random(48);
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    const GeneratedCore& core = CoreOf(round);
    FileShape shape = RandomShape(core, random);
    shape.groups.clear();
    shape.intervals = 0;
    shape.parts = "";
    const EventCounts counts = core.counts(core.width, random);
    const KnownNodes known = core.nodes(core.width, counts);
    std::string text = EventFileWriter(shape, random()).Write({{"", counts}}).text;
    text.resize(random() % text.size());
    SCOPED_TRACE(Describe(core, shape, text));
    try {
      const TopdownReading reading =
          ReadTopdown(FindTopdownTable(core.cpu), ParseRecordedCounts(text, "f"), {});
      if (!reading.contradiction.empty()) continue;
      for (const auto& [name, value] : reading.result.level1) {
        if (!value) continue;
        EXPECT_NEAR(*value, known.at(name), 1e-9) << name;
      }
    } catch (const TopdownError&) {  // refused
    }
  }
}

}  // namespace
}  // namespace topdnn
