// `topdnn report` and profile --html: the file that they write. html_report_test.cc opens it in a
// browser.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/report/html/page.h"
#include "harness/report/html/page_data.h"
#include "harness/report/html/page_texts.h"
#include "tests/bench/program.h"
#include "tests/bench/result_samples.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The data inside a page.
std::string DataText(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

nlohmann::json DataOf(const std::string& page) { return nlohmann::json::parse(DataText(page)); }

std::string PageOf(const nlohmann::ordered_json& profile) {
  return HtmlPage({ProfileData(profile)});
}

// The digest of "abc" of FIPS 180-2, appendix B.1, in base 64.
TEST(HtmlPageTest, AHashIsWrittenAsThePolicyNeedsIt) {
  EXPECT_EQ(PolicyHash("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

// python3 is the other implementation of SHA-256 and base 64.
TEST(HtmlPageTest, ThePolicyHasTheHashesOfTheScriptAndTheStyle) {
  const TestFolder folder;
  const std::string page = PageOf(SampleProfile());
  for (const char* text : {kPageScript, kPageStyle}) {
    const std::string file = folder.Write("text", text);
    const Outcome hash = RunShell(
        "python3 -c 'import base64,hashlib,sys;"
        "print(base64.b64encode(hashlib.sha256(open(sys.argv[1],\"rb\").read()).digest())"
        ".decode(),end=\"\")' " +
        Quoted(file));
    EXPECT_THAT(page, HasSubstr("'sha256-" + hash.output + "'"));
    EXPECT_THAT(page, HasSubstr(std::string(">") + text + "</"));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(HtmlPageTest, HasTheWarningsOfTheRun) {
  nlohmann::ordered_json profile = SampleProfile();
  profile["warnings"] = {"nothing counts cycles here"};
  const nlohmann::json data = DataOf(PageOf(profile));
  EXPECT_NE(data.dump().find("nothing counts cycles here"), std::string::npos);
}

TEST(HtmlPageTest, DataContainsNoTag) {
  const std::string data = DataText(PageOf(HostileProfile()));
  EXPECT_EQ(data.find('<'), std::string::npos);
  for (const char* text : kHostileTexts) {
    EXPECT_THAT(DataOf(PageOf(HostileProfile())).dump(),
                HasSubstr(nlohmann::json(text).dump().substr(1, 5)));
  }
}

TEST(HtmlPageTest, BytesThatAreNotUtf8AreReplaced) {
  nlohmann::ordered_json profile = SampleProfile();
  profile["command"] =
      "a\xff"
      "b";
  EXPECT_EQ(DataOf(PageOf(profile))["results"][0]["command"], "a\uFFFDb");
}

TEST(HtmlPageTest, StagesAreColumnsAndAbsentValuesAreNull) {
  const nlohmann::json data = DataOf(PageOf(SampleProfile()))["results"][0];
  const nlohmann::json& stages = data["stages"];
  EXPECT_EQ(stages["count"], 13);
  EXPECT_EQ(stages["texts"][stages["text"]["name"][9].get<int>()], "conv1");
  EXPECT_EQ(stages["texts"][stages["text"]["status"][8].get<int>()], "FAILED");
  EXPECT_EQ(stages["time"]["seconds"][0], nlohmann::json({0.004, 0.0036, 0.005, 40}));
  EXPECT_EQ(stages["time"]["seconds"][12], nullptr);
  EXPECT_EQ(stages["number"]["peak_fraction"][1], nullptr);
  EXPECT_EQ(stages["number"]["peak_fraction"][0], 0.5);
  EXPECT_EQ(stages["nodes"]["topdown"]["rows"][1][2], nullptr);
  EXPECT_EQ(stages["nodes"]["topdown_bounds"]["rows"][0][1], nlohmann::json({0, 0.3}));
  EXPECT_EQ(stages["events"]["names"], nlohmann::json({"instructions"}));
  EXPECT_FALSE(stages["number"].contains("dram_gb_per_second"));
  ASSERT_EQ(stages["hot"][0].size(), 1u);
  EXPECT_EQ(stages["hot"][0][0]["listing"][0], "   0  vmovups zmm1, [rax]");
  EXPECT_EQ(stages["hot"][1], nullptr);
  EXPECT_EQ(data["fed_step"]["compute"], nlohmann::json({{"mean", 0.019}, {"ci95", nullptr}}));
}

TEST(HtmlPageTest, ATrainingStepOfResNet50Fits) {
  EXPECT_LT(PageOf(LargeProfile(587)).size(), 400'000u);
}

TEST(ReportCommandTest, ProfileWritesThePageThatReportWrites) {
  const TestFolder folder;
  const std::string json = folder.path() / "out.json";
  const std::string first = folder.path() / "first.html";
  const std::string second = folder.path() / "second.html";
  const Outcome profiled =
      RunProgram({"profile", "cnn", "--train", "--batch", "2", "--threads", "1", "--data",
                  "synthetic", "--iterations", "2", "--series", "--json", json, "--html", first});
  ASSERT_EQ(profiled.exit_status, kExitGood) << profiled.output;
  ASSERT_EQ(RunProgram({"report", json, "--html", second}).exit_status, kExitGood);
  EXPECT_EQ(DataOf(TextOf(first)), DataOf(TextOf(second)));
  EXPECT_EQ(TextOf(first), TextOf(second));
  const nlohmann::json memory = ReadJson(json)["memory"];
  EXPECT_EQ(memory["live_bytes"].size(), ReadJson(json)["stages"].size());
}

TEST(ReportCommandTest, WritesToStandardOutput) {
  const TestFolder folder;
  const std::string json = folder.Write("a.json", SampleProfile().dump());
  const std::string page = folder.path() / "page.html";
  ASSERT_EQ(RunProgram({"report", json, "--html", page}).exit_status, kExitGood);
  const Outcome streamed = RunProgram({"report", json, "--html", "-"});
  EXPECT_EQ(streamed.exit_status, kExitGood);
  EXPECT_EQ(streamed.output, TextOf(page));
  EXPECT_TRUE(streamed.output.starts_with("<!DOCTYPE html>")) << streamed.output.substr(0, 100);
}

TEST(ReportCommandTest, SeveralResultsAreOnOnePage) {
  const TestFolder folder;
  nlohmann::ordered_json sweep = SampleSweep();
  sweep["cases"][0]["file"] = "cases/first.json";
  sweep["cases"][1]["file"] = "cases/lost.json";
  folder.Write("sweep/sweep.json", sweep.dump());
  folder.Write("sweep/cases/first.json", SampleProfile().dump());
  const std::string profile = folder.Write("a.json", SampleProfile().dump());
  const std::string comparison = folder.Write("b.json", SampleComparison().dump());
  for (const char* name : {"sweep", "sweep/sweep.json"}) {
    const Outcome outcome =
        RunProgram({"report", profile, folder.path() / name, comparison, "--html", "-"});
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    const nlohmann::json results = DataOf(outcome.output)["results"];
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0]["kind"], "profile");
    EXPECT_EQ(results[1]["cases"][0]["command"], SampleProfile()["command"]);
    EXPECT_FALSE(results[1]["cases"][1].contains("command"));
    EXPECT_EQ(results[1]["cases"][3]["status"], "OUT_OF_MEMORY");
    EXPECT_EQ(results[2]["rows"][1]["ratio"], 0.8);
  }
}

TEST(ReportCommandTest, BadInputIsRefusedInOneLine) {
  const TestFolder folder;
  nlohmann::ordered_json later = SampleProfile();
  later["schema"] = 2;
  nlohmann::ordered_json typed = SampleProfile();
  typed["step"] = 5;
  nlohmann::ordered_json named = SampleSweep();
  named["cases"] = {{{"id", "x"}, {"file", "a.json"}}};
  folder.Write("empty/x", "");
  folder.Write("broken/sweep.json", named.dump());
  folder.Write("broken/a.json", "{");
  const std::string good = folder.Write("good.json", SampleProfile().dump());
  struct Bad {
    std::vector<std::string> arguments;
    std::string part;
  };
  const std::string page = folder.path() / "page.html";
  for (const Bad& bad :
       std::vector<Bad>{{{good}, "--html"},
                        {{"--html", page}, "no result"},
                        {{folder.path() / "none.json", "--html", page}, "none.json"},
                        {{folder.Write("later.json", later.dump()), "--html", page}, "schema 2"},
                        {{folder.Write("typed.json", typed.dump()), "--html", page}, "typed.json"},
                        {{folder.path() / "empty", "--html", page}, "sweep.json"},
                        {{folder.path() / "broken", "--html", page}, "not JSON"},
                        {{good, "--html", good}, "input"}}) {
    std::vector<std::string> arguments = {"report"};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(bad.part));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(page)) << outcome.output;
    std::filesystem::remove(page);
  }
  EXPECT_EQ(nlohmann::json::parse(TextOf(good)), nlohmann::json(SampleProfile()));
}

}  // namespace
}  // namespace topdnn
