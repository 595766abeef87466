// Counts recorded elsewhere: each format, each spelling, and refused input.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/topdown/event_file.h"
#include "harness/topdown/perf_stat.h"
#include "harness/topdown/resolved_counts.h"
#include "harness/topdown/topdown_reading.h"

namespace topdnn {
namespace {

std::map<std::string, double, std::less<>> Resolve(const std::string& cpu,
                                                   const std::string& text) {
  return ResolveCounts(FindTopdownTable(cpu), ParseRecordedCounts(text, "f")).counts;
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseRecordedCounts(text, "f");
  } catch (const TopdownError& error) {
    return error.what();
  }
  return "";
}

// "arm_dsu_0" counts the cycles of the cluster, which are not the core's.
TEST(RecordedEvents, OfOtherUnitsAreNotTheCores) {
  const auto counts = Resolve("neoverse_n1",
                              "1000000,,cycles,1,100.00,,\n"
                              "200000,,stall_frontend,1,100.00,,\n"
                              "4000000,,arm_dsu_0/event=0x11/,1,100.00,,\n"
                              "4000000,,arm_dsu_0/cycles/,1,100.00,,\n");
  EXPECT_EQ(counts.at("CPU_CYCLES"), 1e6);
}

// A mask before the name counts the masked event, as one after it does.
TEST(RecordedEvents, TheOrderOfTermsDoesNotMatter) {
  EXPECT_EQ(ParseEventName("cpu/cmask=6,de_no_dispatch_per_slot.no_ops_from_frontend/").name,
            ParseEventName("cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=6/").name);
  EXPECT_EQ(ParseEventName("cpu/ICACHE_16B.IFDATA_STALL,cmask=1,edge=1/").name,
            ParseEventName("ICACHE_16B.IFDATA_STALL:c1:e1").name);
}

TEST(EventFile, ReadsOurJson) {
  const auto recorded =
      ParseRecordedCounts(R"({"events": {"TOPDOWN.SLOTS": 6000, "X": null}, "smt": true})", "f");
  EXPECT_TRUE(recorded.smt);
  ASSERT_EQ(recorded.counts.size(), 2u);
  EXPECT_EQ(recorded.counts[0].value, 6000);
  EXPECT_FALSE(recorded.counts[1].value.has_value());
}

TEST(EventFile, FindsEventsByEverySpelling) {
  for (const char* spelling :
       {"TOPDOWN.SLOTS", "topdown.slots:u", "slots", "cpu_core/slots/", "cpu/slots/u",
        "cpu_core/TOPDOWN.SLOTS/u", "cpu/event=0x00,umask=0x04/", "r400", "TOPDOWN.SLOTS_P"}) {
    const auto counts =
        Resolve("sapphire_rapids", std::string("{\"events\": {\"") + spelling + "\": 7}}");
    ASSERT_EQ(counts.size(), 1u) << spelling;
    EXPECT_EQ(counts.at("TOPDOWN.SLOTS"), 7) << spelling;
  }
  for (const char* spelling : {"de_no_dispatch_per_slot.no_ops_from_frontend:c6",
                               "cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x6/u",
                               "cpu/event=0x1a0,umask=0x1,cmask=6/"}) {
    const auto counts = Resolve("zen4", std::string("{\"events\": {\"") + spelling + "\": 7}}");
    ASSERT_EQ(counts.size(), 1u) << spelling;
    EXPECT_EQ(counts.count("de_no_dispatch_per_slot.no_ops_from_frontend:c6"), 1u) << spelling;
  }
  for (const char* spelling : {"cpu_core/idq.dsb_uops,cmask=8,inv=1,eq=1/",
                               "cpu_core/event=0x79,umask=8,cmask=8,inv,eq/"}) {
    const auto counts =
        Resolve("lunar_lake_p", std::string("{\"events\": {\"") + spelling + "\": 7}}");
    EXPECT_EQ(counts.count("IDQ.DSB_UOPS:c8:inv:eq"), 1u) << spelling;
  }
}

TEST(EventFile, ReadsPerfCsv) {
  const auto counts = Resolve("sapphire_rapids",
                              "# started on Mon\n\n"
                              "6000,,slots,1000,100.00,,\n"
                              "2400,,topdown-retiring,1000,100.00,0.4,retiring\n"
                              ",,,,,0.1,tma_core_bound\n"
                              "<not counted>,,topdown-bad-spec,0,0.00,,\n"
                              "<not supported>,,topdown-fe-bound,0,100.00,,\n"
                              "12.50,msec,task-clock,12500000,100.00,0.9,CPUs utilized\n"
                              "300,,cpu/event=0xad,umask=0x10/,1000,100.00,,\n");
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.at("TOPDOWN.SLOTS"), 6000);
  EXPECT_EQ(counts.at("PERF_METRICS.RETIRING"), 2400);
  EXPECT_EQ(counts.at("INT_MISC.UOP_DROPPING"), 300);
}

TEST(EventFile, SumsIntervalsAndCpus) {
  EXPECT_EQ(Resolve("sapphire_rapids",
                    "     1.000123456,600,,slots,10,100.00,,\n"
                    "     2.000234567,700,,slots,10,100.00,,\n")
                .at("TOPDOWN.SLOTS"),
            1300);
  EXPECT_EQ(Resolve("sapphire_rapids", "CPU0,600,,slots,10,100.00,,\nCPU1,700,,slots,10,100,,\n")
                .at("TOPDOWN.SLOTS"),
            1300);
  EXPECT_EQ(Resolve("sapphire_rapids", "S0-D0-C0,2,600,,slots,10,100.00,,\n").at("TOPDOWN.SLOTS"),
            600);
  // Two counts for one interval are one event in two groups.
  EXPECT_EQ(
      Resolve("sapphire_rapids", "600,,slots,10,100,,\n601,,slots,10,100,,\n").at("TOPDOWN.SLOTS"),
      600);
  // Nothing was counted in one interval: it was idle.
  EXPECT_EQ(Resolve("sapphire_rapids", "1.0,600,,slots,10,100,,\n2.0,<not counted>,,slots,0,0,,\n")
                .at("TOPDOWN.SLOTS"),
            600);
}

// An interval in which some of the events were not counted, or that was cut, is left out: the
// events would cover different times.
TEST(EventFile, EveryEventCoversTheSameIntervals) {
  const std::string complete = "1.0,600,,slots,10,100,,\n1.0,60,,topdown-retiring,10,100,,\n";
  for (const char* second : {"2.0,700,,slots,10,100,,\n2.0,<not counted>,,topdown-retiring,0,0,,\n",
                             "2.0,700,,slots,10,100,,\n"}) {
    const auto resolved = ResolveCounts(FindTopdownTable("sapphire_rapids"),
                                        ParseRecordedCounts(complete + second, "f"));
    EXPECT_EQ(resolved.counts.at("TOPDOWN.SLOTS"), 600);
    EXPECT_EQ(resolved.counts.at("PERF_METRICS.RETIRING"), 60);
    ASSERT_EQ(resolved.notes.size(), 1u);
    EXPECT_NE(resolved.notes[0].find("1 of 2 intervals or CPUs are left out"), std::string::npos);
  }
  // Without a complete interval, only an event that was counted in each of them has a sum.
  const auto resolved = ResolveCounts(
      FindTopdownTable("sapphire_rapids"),
      ParseRecordedCounts("1.0,600,,slots,10,100,,\n1.0,<not counted>,,topdown-retiring,0,0,,\n"
                          "2.0,700,,slots,10,100,,\n2.0,70,,topdown-retiring,10,100,,\n"
                          "1.0,6,,topdown-fe-bound,10,100,,\n",
                          "f"));
  EXPECT_EQ(resolved.counts.size(), 1u);
  EXPECT_EQ(resolved.counts.at("TOPDOWN.SLOTS"), 1300);
  EXPECT_EQ(resolved.not_counted,
            (std::vector<std::string>{"PERF_METRICS.RETIRING", "PERF_METRICS.FRONTEND_BOUND"}));
}

TEST(EventFile, RepetitionsAreAverages) {
  const auto run = [](int slots, int retiring) {
    return fmt::format("{},,slots,10,100,,\n{},,topdown-retiring,10,100,,\n", slots, retiring);
  };
  // perf stat -r 0 prints the events repeatedly.
  const auto repeated = Resolve("sapphire_rapids", run(600, 60) + run(800, 100));
  EXPECT_EQ(repeated.at("TOPDOWN.SLOTS"), 700);
  EXPECT_EQ(repeated.at("PERF_METRICS.RETIRING"), 80);
  // perf stat --append: two recordings.
  const std::string begin = "# started on Fri Nov 27 2026\n\n";
  const auto recorded = ParseRecordedCounts(begin + run(600, 60) + begin + run(800, 100), "f");
  EXPECT_EQ(recorded.origins.size(), 2u);
  const auto resolved = ResolveCounts(FindTopdownTable("sapphire_rapids"), recorded);
  EXPECT_EQ(resolved.counts.at("TOPDOWN.SLOTS") / resolved.counts.at("PERF_METRICS.RETIRING"),
            1400.0 / 160);
  EXPECT_NE(resolved.notes.at(0).find("2 recordings"), std::string::npos);
}

TEST(EventFile, AControlGroupIsTheFieldAfterTheEvent) {
  for (const char* group : {"web", "1000", "0", "system.slice/web.service", "/"}) {
    for (const char* noise : {"", "0.31%,"}) {
      const auto recorded = ParseRecordedCounts(
          fmt::format("600,,slots,{},{}351747210,100.00,,\n", group, noise), "f");
      ASSERT_EQ(recorded.Groups(), std::vector<std::string>{group}) << noise;
      EXPECT_EQ(recorded.means, *noise != '\0');
    }
  }
  for (const char* line :
       {"600,,slots,351747210,100.00,,\n", "600,,slots,351747210,100.00\n",
        "600,,slots,0.31%,351747210,100.00,,\n", "600,,slots,0,31%,351747210,25,09,,\n",
        "600,,slots,,35174,100.00,,\n", "600,,slots\n"}) {
    EXPECT_TRUE(ParseRecordedCounts(line, "f").Groups().empty()) << line;
  }
}

TEST(EventFile, ReadsObjectsThatAreNotOneALine) {
  for (
      const char* text :
      {R"({"counter-value" : "600.0", "event" : "slots", }{"metric-value" : nan, "metric-unit" : "x"})",
       R"([{"counter-value" : "600.0", "event" : "slots"}, {"counter-value" : "7.0", "event" : "x"}])",
       "{\n \"counter-value\": \"600.0\",\n \"event\": \"slots\"\n}\n",
       R"({"counter-value" : "600,000000", "event" : "slots", "pcnt-running" : 99,50})",
       R"({"counter-value" : "600.0", "event" : "slots", "new-key" : {"a" : 1}})"}) {
    EXPECT_EQ(Resolve("sapphire_rapids", text).at("TOPDOWN.SLOTS"), 600) << text;
  }
}

TEST(EventFile, MetricsAloneAreReadAsMetrics) {
  const auto read = [](const std::string& cpu, const std::string& text) {
    return ReadTopdown(FindTopdownTable(cpu), ParseRecordedCounts(text, "f"), {});
  };
  const auto json = [](const char* unit, double value) {
    return fmt::format(R"({{"metric-value" : "{}", "metric-unit" : "{}"}})", value, unit) + "\n";
  };
  EXPECT_NO_THROW(read("zen4", json("%", 5) + json("%  ", 5) + json("", 5)));
  const auto zen =
      read("zen4", json("%slots  frontend_bound", 30) + json("%ops  bad_speculation", 5) +
                       json("%slots  backend_bound", 40) + json("%slots  retiring", 25) +
                       json("%slots  backend_bound_by_memory", 22));
  EXPECT_EQ(zen.result.level1[0], (TopdownResult::Values::value_type("Frontend_Bound", 0.3)));
  EXPECT_EQ(zen.result.level1[3], (TopdownResult::Values::value_type("Retiring", 0.25)));
  EXPECT_EQ(zen.result.level2[4], (TopdownResult::Values::value_type("Memory_Bound", 0.22)));
  // `perf stat --topdown -x,` has no sign of percent, and two intervals have no common share.
  const std::string csv =
      "1,,cycles,5,100,15.3,retiring\n,,,,,20.7,bad speculation\n"
      ",,,,,34.0,frontend bound\n,,,,,30.0,backend bound\n";
  const auto topdown = read("sapphire_rapids", csv);
  EXPECT_EQ(topdown.contradiction, "");
  for (const auto& [name, value] : topdown.result.level1) {
    if (name != "Frontend_Bound") continue;
    EXPECT_NEAR(value.value(), 0.34, 1e-12);
  }
  const auto both = read("sapphire_rapids", csv + csv);
  EXPECT_FALSE(both.result.level1[0].second.has_value());
  EXPECT_NE(
      read("zen4", json("%slots  frontend_bound", 80) + json("%slots  retiring", 75)).contradiction,
      "");
}

TEST(EventFile, ALongNameOrNumberIsCutInMessages) {
  const std::string nines(100000, '9'), letters(100000, 'x');
  for (const std::string& text :
       {nines + ",,slots,1,100.00,,\n", "-1,," + letters + ",1,100.00,,\n",
        R"({"events": {"X": )" + nines + "}}", R"({"events": {")" + letters + R"(": "1"}})",
        R"({"counter-value" : ")" + nines + R"(", "event" : ")" + letters + R"("})"}) {
    const std::string error = ErrorOf(text);
    EXPECT_FALSE(error.empty());
    EXPECT_LT(error.size(), 300u);
  }
}

TEST(EventFile, SeparatesTheCoreTypesOfHybridCpus) {
  const std::string text =
      "600,,cpu_core/cycles/,10,100.00,,\n500,,cpu_atom/cycles/,10,100.00,,\n"
      "80,,cpu_core/slots/,10,100.00,,\n";
  EXPECT_EQ(Resolve("gracemont", text).at("CPU_CLK_UNHALTED.CORE"), 500);
  EXPECT_EQ(Resolve("lunar_lake_p", text).size(), 2u);
  EXPECT_EQ(Resolve("lunar_lake_p", text).at("CPU_CLK_UNHALTED.THREAD"), 600);
}

TEST(EventFile, ReadsOtherLocales) {
  EXPECT_EQ(Resolve("sapphire_rapids", "6.000.123;;slots;10;100,00;;\n").at("TOPDOWN.SLOTS"),
            6000123);
  EXPECT_EQ(Resolve("sapphire_rapids", "6,000,123,,slots,10,100.00,,\n").at("TOPDOWN.SLOTS"),
            6000123);
  EXPECT_EQ(ParseLocalNumber("1\xE2\x80\xAF"
                             "234\xC2\xA0"
                             "567",
                             true),
            1234567);
  EXPECT_EQ(ParseLocalNumber("1.234,5", true), 1234.5);
  EXPECT_EQ(ParseLocalNumber("1,234", true), 1234);
  EXPECT_EQ(ParseLocalNumber("1,234", false), 1.234);
  EXPECT_EQ(ParseLocalNumber("12,34,5", true), std::nullopt);
  EXPECT_EQ(ParseLocalNumber("nan", true), std::nullopt);
  EXPECT_EQ(ParseLocalNumber("", true), std::nullopt);
}

TEST(EventFile, JoinsAGroupedCountAfterOtherFields) {
  for (const char* line :
       {"     1.000123456,6,000,123,,slots,10,100.00,,\n", "CPU0,6,000,123,,slots,10,100.00,,\n",
        "1.000123456,CPU0,6,000,123,,slots,10,100.00,,\n",
        "1.000123456,S0-D0-C0,2,6,000,123,,slots,10,100.00,,\n",
        "name-1234,6,000,123,,slots,10,100.00,,\n",
        "     1.000123456;6.000.123;;slots;10;100,00;;\n"}) {
    EXPECT_EQ(Resolve("sapphire_rapids", line).at("TOPDOWN.SLOTS"), 6000123) << line;
  }
  // A number of CPUs, and not a part of the count.
  EXPECT_EQ(
      Resolve("sapphire_rapids", "1.0,S0,128,600,123,,slots,10,100.00,,\n").at("TOPDOWN.SLOTS"),
      600123);
  EXPECT_EQ(Resolve("sapphire_rapids", "N1,128,600,,slots,10,100.00,,\n").at("TOPDOWN.SLOTS"), 600);
  EXPECT_EQ(Resolve("sapphire_rapids", "S0-D0-C0;2;600;;slots;10;100.00;;\n").at("TOPDOWN.SLOTS"),
            600);
  // Two counts for one interval are one event in two groups.
  EXPECT_EQ(Resolve("sapphire_rapids",
                    "1.0,6,000,123,,slots,10,100.00,,\n1.0,6,001,150,,slots,10,100.00,,\n")
                .at("TOPDOWN.SLOTS"),
            6000123);
}

TEST(EventFile, RefusesACountThatIsSplitInAnotherWay) {
  for (const char* line : {"12,50,,slots,10,100.00,,\n", "CPU0,1234,567,,slots,10,100.00,,\n",
                           "S0-D0-C0,2,12,50,,slots,10,100.00,,\n"}) {
    EXPECT_NE(ErrorOf(line).find("LC_ALL=C"), std::string::npos) << line << ErrorOf(line);
  }
}

TEST(EventFile, ReadsPerfJson) {
  const std::string text =
      R"({"interval" : 1.0, "counter-value" : "600.000000", "unit" : "", "event" : "slots", "event-runtime" : 10, "pcnt-running" : 50.00})"
      "\n"
      R"({"interval" : 2,0, "counter-value" : "700,000000", "unit" : "", "event" : "slots", "event-runtime" : 10, "pcnt-running" : 100,00})"
      "\n"
      R"({"metric-value" : "0.4", "metric-unit" : "tma"})"
      "\n"
      R"({"counter-value" : "<not counted>", "unit" : "", "event" : "topdown-retiring"})"
      "\n";
  const auto resolved =
      ResolveCounts(FindTopdownTable("sapphire_rapids"), ParseRecordedCounts(text, "f"));
  EXPECT_EQ(resolved.counts.size(), 1u);
  EXPECT_EQ(resolved.counts.at("TOPDOWN.SLOTS"), 1300);
  ASSERT_EQ(resolved.notes.size(), 1u);
  EXPECT_NE(resolved.notes[0].find("50 %"), std::string::npos);
}

TEST(EventFile, PrefersTheVendorsNameToAnAlias) {
  EXPECT_EQ(Resolve("skylake_x", R"({"events": {"cycles": 9, "CPU_CLK_UNHALTED.THREAD": 8}})")
                .at("CPU_CLK_UNHALTED.THREAD"),
            8);
  EXPECT_THROW(Resolve("skylake_x", R"({"events": {"uops_issued.any": 9, "UOPS_ISSUED.ANY": 8}})"),
               TopdownError);
}

// perf stat -j --metric-only writes an object for each interval, of names and texts.
TEST(EventFile, MetricsOfNoEventAreRefusedByTheirOption) {
  for (const char* interval : {"", "\"interval\" : 1.000, "}) {
    const std::string line = fmt::format(
        R"({{{}"%  tma_backend_bound" : "70.0", "%  tma_retiring" : "20.0"}})", interval);
    EXPECT_THAT(ErrorOf(line + "\n" + line + "\n"), testing::HasSubstr("--metric-only"));
  }
}

TEST(EventFile, RefusesInvalidInputInOneLine) {
  const std::string deep(100000, '[');
  for (const std::string& text : std::vector<std::string>{
           "", "  \n", "{", "[]", "[1]", "{}", R"({"events": []})", R"({"events": {}})",
           R"({"events": {"X": -1}})", R"({"events": {"X": "1"}})", R"({"events": {"X": 1e999}})",
           R"({"events": {"X": 1, "X": 2}})", R"({"events": {"X": 1}, "smt": 1})", deep, "hello",
           "-5,,slots,1,100\n", R"({"counter-value": "abc", "event": "slots"})",
           std::string("\0\xFF\xFE", 3)}) {
    const std::string error = ErrorOf(text);
    EXPECT_FALSE(error.empty()) << text.substr(0, 60);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_EQ(error.rfind("f", 0), 0u) << error;
  }
}

}  // namespace
}  // namespace topdnn
