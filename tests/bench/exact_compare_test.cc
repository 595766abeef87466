// `topdnn compare --exact`: on baselines made by hand, and on real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/compare/exact_comparison.h"
#include "bench/studies/compare/exact_report.h"
#include "harness/exact/counter.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

Json StageOf(const std::string& name, std::uint64_t instructions) {
  return {{"name", name},
          {"pass", "forward"},
          {"implementation", "loops"},
          {"counts",
           {{"instructions", instructions},
            {"flops", 800},
            {"loads", 100},
            {"stores", 50},
            {"load_bytes", 6400},
            {"store_bytes", 3200},
            {"branches", 60},
            {"fp_instructions", {{"f32_512", 25}}}}},
          {"left_out", {"libgomp"}},
          {"loops",
           {{{"code", "aa"}, {"iterations", 50}, {"entries", 1}, {"instructions", 200}},
            {{"code", "bb"}, {"iterations", 10}, {"entries", 2}, {"instructions", 100}}}}};
}

// Two stages: conv1 with 1000 instructions, relu1 with 400.
Json Baseline() {
  const Json subject = {{"network", "cnn"}, {"mode", "inference"}, {"batch", 8}, {"threads", 2}};
  const Json cpu = {{"vendor", "V"}, {"family", 1}, {"model", 2}, {"isa", {"avx2"}}};
  const Json libraries = {{"onednn", {{"version", "2.6.3"}, {"isa", "avx2"}}}, {"compiler", "12"}};
  const Json code = {{"aa", {{"place", "lib!F"}, {"listing", {"add", "dec", "jnz"}}}},
                     {"bb", {{"place", "lib!G"}, {"listing", {"mul", "jnz"}}}},
                     {"cc", {{"place", "lib!F"}, {"listing", {"add", "nop", "dec", "jnz"}}}}};
  return {{"schema", 1},
          {"exact_counts",
           {{"format", 1},
            {"subject", subject},
            {"cpu", cpu},
            {"libraries", libraries},
            {"stages", {StageOf("conv1", 1000), StageOf("relu1", 400)}},
            {"code", code}}}};
}

// conv1's first loop has one instruction more: 50 iterations.
Json WithAddedInstruction() {
  Json json = Baseline();
  Json& stage = json["exact_counts"]["stages"][0];
  stage["counts"]["instructions"] = 1050;
  stage["loops"][0]["code"] = "cc";
  stage["loops"][0]["instructions"] = 250;
  return json;
}

ExactComparison Compare(const Json& a, const Json& b) {
  return CompareExact({.path = "a", .json = a}, {.path = "b", .json = b});
}

std::string MessageOf(const Json& a, const Json& b) {
  try {
    Compare(a, b);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ExactComparison, EqualCountsAreNoDifference) {
  const ExactComparison same = Compare(Baseline(), Baseline());
  EXPECT_EQ(same.Verdict(), "same");
  EXPECT_EQ(same.Step().a->at("instructions"), 1400U);
  EXPECT_EQ(same.Step().a->at("bytes"), 2U * 9600);
  EXPECT_TRUE(Exceeded(same, {{"instructions", 0}}).empty());
  EXPECT_EQ(ExactText(same, false, {}), "no difference in 2 stages: 1,400 instructions each\n");
}

TEST(ExactComparison, OneInstructionInOneLoopIsFoundAndShown) {
  const ExactComparison changed = Compare(Baseline(), WithAddedInstruction());
  EXPECT_EQ(changed.Verdict(), "different");
  EXPECT_EQ(changed.Different(), 1U);
  ASSERT_EQ(changed.rows[0].loops.size(), 1U);
  const LoopChange& loop = changed.rows[0].loops[0];
  EXPECT_EQ(loop.a->code, "aa");
  EXPECT_EQ(loop.b->code, "cc");
  EXPECT_EQ(loop.instructions(), 50);
  const std::string text = ExactText(changed, false, {});
  EXPECT_THAT(text, StartsWith("different: 1 of 2 stages; of the step: instructions +3.57 %\n"));
  EXPECT_THAT(text, HasSubstr("conv1 forward: the hottest loop that differs, +50 of +50 "));
  EXPECT_THAT(text, HasSubstr("> nop\n"));
  // 5 % of the stage, 3.57 % of the step.
  EXPECT_THAT(Exceeded(changed, {{"instructions", 0.04}}),
              ElementsAre("above the limit of 4 %: conv1 forward: instructions grew by 5 %"));
  EXPECT_EQ(Exceeded(changed, {{"instructions", 0.03}}).size(), 2U);
  EXPECT_TRUE(Exceeded(changed, {{"instructions", 0.05}, {"loads", 0}}).empty());
  // Fewer instructions are no failure.
  EXPECT_TRUE(Exceeded(Compare(WithAddedInstruction(), Baseline()), {{"instructions", 0}}).empty());
}

TEST(ExactComparison, AChangeInSeveralStagesIsShownOnce) {
  const auto three_stages = [](const char* code, std::uint64_t added) {
    Json json = Baseline();
    Json& stages = json["exact_counts"]["stages"];
    stages = Json::array();
    for (const char* name : {"conv1", "conv2", "conv3"}) {
      Json stage = StageOf(name, 1000 + added);
      stage["loops"][0]["code"] = code;
      stage["loops"][0]["instructions"] = 200 + added;
      stages.push_back(stage);
    }
    return json;
  };
  const ExactComparison changed = Compare(three_stages("aa", 0), three_stages("cc", 50));
  EXPECT_EQ(changed.Different(), 3U);
  const std::string text = ExactText(changed, false, {});
  EXPECT_EQ(text.find("> nop"), text.rfind("> nop")) << text;
  EXPECT_THAT(text, HasSubstr("2 more stages differ in a loop that is shown\n"));
}

TEST(ExactComparison, OtherIterationsAreAChangeOfTheLoop) {
  Json more = Baseline();
  Json& stage = more["exact_counts"]["stages"][1];
  stage["counts"]["instructions"] = 440;
  stage["loops"][1]["iterations"] = 14;
  stage["loops"][1]["instructions"] = 140;
  const ExactComparison changed = Compare(Baseline(), more);
  ASSERT_EQ(changed.rows[1].loops.size(), 1U);
  EXPECT_EQ(changed.rows[1].loops[0].a->code, "bb");
  EXPECT_THAT(ExactText(changed, false, {}),
              HasSubstr("the same code runs another number of times"));
}

TEST(ExactComparison, ACountWithoutAColumnIsADifference) {
  Json other = Baseline();
  other["exact_counts"]["stages"][0]["counts"]["fp_instructions"] = {{"f32_256", 50}};
  EXPECT_EQ(Compare(Baseline(), other).Different(), 1U);
}

TEST(ExactComparison, OtherCodeWithEqualCountsIsNamedAndNoDifference) {
  Json other = Baseline();
  other["exact_counts"]["stages"][0]["loops"][0]["code"] = "cc";
  const ExactComparison same = Compare(Baseline(), other);
  EXPECT_EQ(same.Verdict(), "same");
  EXPECT_THAT(ExactText(same, false, {}), HasSubstr("1 stages have loops of other code"));
}

TEST(ExactComparison, StagesOfOneSideAndWithoutCounts) {
  Json less = Baseline();
  less["exact_counts"]["stages"].erase(1);
  const ExactComparison missing = Compare(Baseline(), less);
  EXPECT_EQ(missing.Different(), 1U);
  EXPECT_EQ(missing.rows[1].absent, "only in A");
  EXPECT_EQ(missing.Step().b->at("instructions"), 1000U);
  Json uncounted = Baseline();
  uncounted["exact_counts"]["stages"][1]["counts"] = nullptr;
  uncounted["exact_counts"]["stages"][1]["reason"] = "a thread";
  const ExactComparison unknown = Compare(Baseline(), uncounted);
  EXPECT_EQ(unknown.Verdict(), "cannot tell");
  EXPECT_THAT(ExactText(unknown, false, {}),
              HasSubstr("relu1 forward: not counted in B: a thread"));
}

TEST(ExactComparison, RefusesOtherWorkAndOtherLibraries) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = Baseline();
    json[Json::json_pointer(std::string("/exact_counts") + pointer)] = value;
    return MessageOf(Baseline(), json);
  };
  EXPECT_THAT(with("/subject/batch", 16), HasSubstr("batch is 8 in A and 16 in B"));
  EXPECT_THAT(with("/cpu/model", 3), HasSubstr("model is 2 in A and 3 in B"));
  EXPECT_THAT(with("/cpu/isa", {"avx512"}), HasSubstr("record the baseline on this CPU"));
  EXPECT_THAT(with("/libraries/onednn/isa", "avx512_core"), HasSubstr("onednn/isa is avx2 in A"));
  EXPECT_THAT(with("/format", 2), HasSubstr("format 2, but this topdnn reads format 1"));
  EXPECT_THAT(with("/stages/0/counts/loads", "many"), HasSubstr("b: exact_counts: damaged"));
  // Named, and compared all the same.
  Json compiler = Baseline();
  compiler["exact_counts"]["libraries"]["compiler"] = "13";
  EXPECT_THAT(Compare(Baseline(), compiler).differences,
              ElementsAre("libraries/compiler: 12 in A, 13 in B"));
}

TEST(ExactReport, PutsListingsBesideEachOther) {
  EXPECT_THAT(BesideEachOther({"a", "b", "d"}, {"a", "c", "d"}, 13),
              ElementsAre("a       a", "b     <", "      > c", "d       d"));
}

TEST(ExactReport, HasTheKeysOfAComparison) {
  const Json json = ExactJson(Compare(Baseline(), WithAddedInstruction()), "a", "b");
  EXPECT_EQ(json["verdict"], "different");
  EXPECT_EQ(json["rows"][0]["a"], 1000);
  EXPECT_EQ(json["rows"][0]["b"], 1050);
  EXPECT_EQ(json["rows"][0]["significant"], true);
  EXPECT_EQ(json["rows"][0]["loops"][0]["b"]["listing"][1], "nop");
  EXPECT_EQ(json["rows"][1]["significant"], false);
  EXPECT_DOUBLE_EQ(json["step"]["ratio"], 1450.0 / 1400);
}

class ExactCommand : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() / name; }
  std::string Write(const std::string& name, const Json& json) const {
    return folder_.Write(name, json.dump()).string();
  }
  TestFolder folder_;
};

TEST_F(ExactCommand, ItsStatusFollowsTheLimits) {
  const std::string a = Write("a.json", Baseline());
  const std::string b = Write("b.json", WithAddedInstruction());
  const auto status = [&](const std::string& from, const std::string& to, const char* limit) {
    return RunProgram({"compare", from, to, "--exact", "--fail-above-instructions", limit});
  };
  EXPECT_EQ(status(a, b, "5%").exit_status, kExitGood);
  const Outcome above = status(a, b, "4.9%");
  EXPECT_EQ(above.exit_status, kExitWrong);
  EXPECT_THAT(above.output, HasSubstr("above the limit of 4.9 %: conv1 forward"));
  Json uncounted = Baseline();
  uncounted["exact_counts"]["stages"][1]["counts"] = nullptr;
  uncounted["exact_counts"]["stages"][1]["reason"] = "a thread";
  EXPECT_EQ(status(a, Write("c.json", uncounted), "0").exit_status, kExitCannotTell);
}

TEST_F(ExactCommand, RefusesWhatDoesNotGoTogether) {
  const std::string a = Write("a.json", Baseline());
  const std::string times = folder_.Write("t.json", ProfileJson({}).dump());
  ExpectRefused({{"compare", a, a}, "give it to `topdnn compare --exact`"});
  ExpectRefused({{"compare", a, times, "--exact"}, "t.json: has no exact counts"});
  ExpectRefused({{"compare", a, a, "--fail-above-loads", "1%"}, "add --exact"});
  ExpectRefused({{"compare", a, a, "--exact", "--fail-above", "1%"}, "compares no times"});
  ExpectRefused({{"compare", a, a, "--exact", "--fail-above-bytes", "x"}, "must be a percentage"});
  ExpectRefused({{"profile", "cnn", "--exact-baseline", Path("o"), "--counters", "clock"},
                 "take --counters exact"});
}

// Two processes count the same, and a step of training, too.
TEST_F(ExactCommand, TwoRunsOfOneProgramAreEqual) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the allocator of AddressSanitizer is counted, and varies";
#endif
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  for (const char* name : {"a", "b"}) {
    const Outcome outcome = RunProgram({"profile", "lenet5", "--train", "--batch", "4", "--threads",
                                        "1", "--exact-baseline", Path(name)});
    ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith("counted exactly: "));
  }
  const Outcome same = RunProgram({"compare", Path("a"), Path("b"), "--exact",
                                   "--fail-above-instructions", "0", "--json", Path("c.json")});
  EXPECT_EQ(same.exit_status, kExitGood);
  EXPECT_THAT(same.output, StartsWith("no difference in ")) << same.output;
  const nlohmann::json result = ReadJson(Path("c.json"));
  EXPECT_EQ(result["verdict"], "same");
  EXPECT_GT(result["step"]["a"], 10000);
  const nlohmann::json baseline = ReadJson(Path("a"));
  for (const auto& stage : baseline.at("exact_counts").at("stages")) {
    EXPECT_GT(stage.at("counts").at("instructions"), 0);
  }
  EXPECT_EQ(baseline, ReadJson(Path("b")));
}

}  // namespace
}  // namespace topdnn
