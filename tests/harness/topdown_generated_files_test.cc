// 2,000 files in the formats, options and versions of perf-stat(1), from known counts: the nodes
// are the known ones. Files that contradict themselves are refused.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/topdown/event_file.h"
#include "harness/topdown/topdown_reading.h"
#include "tests/harness/generated_event_files.h"

namespace topdnn {
namespace {

using Nodes = std::map<std::string, double>;

// Counts of a core, and the nodes of its level 1 as the vendor's documents define them.
struct Core {
  std::string cpu;
  EventCounts (*counts)(std::mt19937_64& random);
  Nodes (*nodes)(const EventCounts& counts);
};

double At(const EventCounts& counts, const std::string& name) {
  for (const auto& [event, count] : counts) {
    if (event == name) return static_cast<double>(count);
  }
  ADD_FAILURE() << name;
  return 0;
}

// Four shares that add up to 1.
std::vector<double> Shares(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0.05, 1);
  std::vector<double> shares = {share(random), share(random), share(random), share(random)};
  double sum = 0;
  for (const double each : shares) sum += each;
  for (double& each : shares) each /= sum;
  return shares;
}

std::uint64_t Whole(double value) { return static_cast<std::uint64_t>(std::llround(value)); }

EventCounts ZenCounts(std::mt19937_64& random) {
  const double cycles = static_cast<double>(1'000'000 + random() % 1'000'000'000);
  const auto f = Shares(random);
  return {{"ls_not_halted_cyc", Whole(cycles)},
          {"de_src_op_disp.all", Whole(6 * cycles * (f[2] + f[3]))},
          {"ex_ret_ops", Whole(6 * cycles * f[2])},
          {"de_no_dispatch_per_slot.no_ops_from_frontend", Whole(6 * cycles * f[0])},
          {"de_no_dispatch_per_slot.backend_stalls", Whole(6 * cycles * f[1])}};
}

Nodes ZenNodes(const EventCounts& c) {
  const double slots = 6 * At(c, "ls_not_halted_cyc");
  const double retired = At(c, "ex_ret_ops");
  return {{"Frontend_Bound", At(c, "de_no_dispatch_per_slot.no_ops_from_frontend") / slots},
          {"Backend_Bound", At(c, "de_no_dispatch_per_slot.backend_stalls") / slots},
          {"Retiring", retired / slots},
          {"Bad_Speculation", (At(c, "de_src_op_disp.all") - retired) / slots}};
}

EventCounts RapidsCounts(std::mt19937_64& random) {
  const double slots = static_cast<double>(6'000'000 + random() % 6'000'000'000);
  const auto f = Shares(random);
  return {{"slots", Whole(slots)},
          {"topdown-fe-bound", Whole(slots * f[0])},
          {"topdown-be-bound", Whole(slots * f[1])},
          {"topdown-retiring", Whole(slots * f[2])},
          {"topdown-bad-spec", Whole(slots * f[3])},
          {"int_misc.uop_dropping", Whole(slots * f[0] / 50)}};
}

Nodes RapidsNodes(const EventCounts& c) {
  const double sum = At(c, "topdown-fe-bound") + At(c, "topdown-be-bound") +
                     At(c, "topdown-retiring") + At(c, "topdown-bad-spec");
  const double dropped = At(c, "int_misc.uop_dropping") / At(c, "slots");
  const double frontend = At(c, "topdown-fe-bound") / sum - dropped;
  const double backend = At(c, "topdown-be-bound") / sum;
  const double retiring = At(c, "topdown-retiring") / sum;
  return {{"Frontend_Bound", frontend},
          {"Backend_Bound", backend},
          {"Retiring", retiring},
          {"Bad_Speculation", 1 - frontend - backend - retiring}};
}

EventCounts NeoverseCounts(std::mt19937_64& random) {
  const double cycles = static_cast<double>(1'000'000 + random() % 1'000'000'000);
  const auto f = Shares(random);
  return {{"cpu_cycles", Whole(cycles)},
          {"stall_slot", Whole(8 * cycles * (f[0] + f[1]))},
          {"stall_slot_frontend", Whole(8 * cycles * f[0])},
          {"stall_slot_backend", Whole(8 * cycles * f[1])},
          {"op_spec", Whole(8 * cycles * (f[2] + f[3]))},
          {"op_retired", Whole(8 * cycles * f[2])},
          {"br_mis_pred", Whole(cycles / 1000)}};
}

Nodes NeoverseNodes(const EventCounts& c) {
  const double cycles = At(c, "cpu_cycles"), slots = 8 * cycles;
  const double used = 1 - At(c, "stall_slot") / slots;
  const double retired = At(c, "op_retired") / At(c, "op_spec");
  const double mispredicted = At(c, "br_mis_pred") / cycles;
  return {{"Frontend_Bound", At(c, "stall_slot_frontend") / slots - mispredicted},
          {"Backend_Bound", At(c, "stall_slot_backend") / slots - 3 * mispredicted},
          {"Retiring", retired * used},
          {"Bad_Speculation", (1 - retired) * used + 4 * mispredicted}};
}

const std::vector<Core> kCores = {{"zen4", ZenCounts, ZenNodes},
                                  {"sapphire_rapids", RapidsCounts, RapidsNodes},
                                  {"neoverse_v2", NeoverseCounts, NeoverseNodes}};

template <typename T>
const T& OneOf(const std::vector<T>& values, std::mt19937_64& random) {
  return values[random() % values.size()];
}

FileShape RandomShape(const Core& core, std::mt19937_64& random) {
  FileShape shape;
  shape.json = random() % 2 == 0;
  shape.version = static_cast<int>(random() % 4);
  shape.separator = OneOf<char>({',', ',', ';', '\t', '|'}, random);
  shape.repeated = random() % 4 == 0;
  shape.intervals = OneOf<int>({0, 0, 2, 5}, random);
  shape.summary = random() % 3 == 0;
  shape.parts =
      OneOf<std::string>({"", "", "cpu", "core", "die", "socket", "node", "thread"}, random);
  if (random() % 4 == 0)
    shape.groups = OneOf<std::vector<std::string>>(
        {{"web", "batch"}, {"/", "1000"}, {"system.slice/a b.service"}}, random);
  if (core.cpu == "sapphire_rapids" && random() % 3 == 0) shape.pmu = "cpu_core";
  shape.running = OneOf<double>({100, 100, 33.3, 100}, random);
  shape.regrouped = random() % 4 == 0;
  shape.two_a_line = random() % 4 == 0;
  shape.idle = OneOf<Idle>({Idle::kNever, Idle::kNever, Idle::kAll, Idle::kOneEvent}, random);
  return shape;
}

std::string Describe(const Core& core, const FileShape& shape, const std::string& text) {
  return fmt::format("{} version {} parts '{}' groups {} intervals {}\n{}", core.cpu, shape.version,
                     shape.parts, shape.groups.size(), shape.intervals, text.substr(0, 1500));
}

void ExpectNodes(const TopdownResult& result, const Nodes& expected) {
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

TEST(GeneratedEventFiles, GiveTheKnownNodes) {
  std::mt19937_64 random(46);
  for (int round = 0; round < 2000 && !testing::Test::HasFailure(); ++round) {
    const Core& core = kCores[static_cast<std::size_t>(round) % kCores.size()];
    const FileShape shape = RandomShape(core, random);
    std::map<std::string, EventCounts> counts;
    for (const std::string& group :
         shape.groups.empty() ? std::vector<std::string>{""} : shape.groups) {
      counts[group] = core.counts(random);
    }
    const GeneratedFile file = EventFileWriter(shape, random()).Write(counts);
    SCOPED_TRACE(Describe(core, shape, file.text));
    const RecordedCounts recorded = ParseRecordedCounts(file.text, "f");
    EXPECT_EQ(recorded.Groups().size(), shape.groups.size());
    EXPECT_EQ(recorded.means, shape.repeated);
    for (const auto& [group, known] : file.counts) {
      CountSelection selection;
      if (!shape.groups.empty()) selection.group = group;
      const TopdownReading reading = ReadTopdown(FindTopdownTable(core.cpu), recorded, selection);
      EXPECT_EQ(reading.contradiction, "");
      ExpectNodes(reading.result, core.nodes(known));
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
  for (int round = 0; round < 300; ++round) {
    // (level 1 of Neoverse V2 adds up to 1 whatever its cycles are)
    const Core& core = kCores[static_cast<std::size_t>(round) % 2];
    FileShape shape = RandomShape(core, random);
    shape.groups.clear();
    EventCounts counts = core.counts(random);
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
    const Core& core = kCores[static_cast<std::size_t>(round) % kCores.size()];
    FileShape shape = RandomShape(core, random);
    shape.groups.clear();
    shape.intervals = 0;
    shape.parts = "";
    const EventCounts counts = core.counts(random);
    const Nodes known = core.nodes(counts);
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
