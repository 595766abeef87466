// Output for a person: tables and help fit the terminal, a pipe gets all columns, and options
// select what is printed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/text/text.h"
#include "tests/bench/program.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kProgram = TOPDNN_BINARY_DIR "/topdnn";
// A replayed profile, which measures nothing.
constexpr const char* kProfile =
    "profile cnn --infer --backend reference --batch 1 --counters replay:" TOPDNN_SOURCE_DIR
    "/tests/bench/recordings/cnn_reference_sapphire_rapids.json";

// The output on a terminal of this width; 0: in a pipe.
std::string OutputOf(const std::string& arguments, int columns) {
  const Outcome outcome =
      RunShell("LC_ALL=C.UTF-8 COLUMNS=" + (columns == 0 ? "" : std::to_string(columns)) + " " +
               Quoted(kProgram) + " " + arguments);
  EXPECT_EQ(outcome.exit_status, kExitGood) << arguments << "\n" << outcome.output;
  return outcome.output;
}

void ExpectFits(const std::string& arguments, int columns) {
  std::istringstream lines(OutputOf(arguments, columns));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(ColumnsOfText(line), static_cast<std::size_t>(columns)) << arguments << "\n" << line;
  }
}

TEST(TerminalTest, EveryTableFitsTheWidth) {
  for (const int columns : {80, 100, 160}) {
    for (const std::string& arguments :
         {std::string(kProfile) + " --roofline --series --explain", std::string("networks"),
          std::string("plan resnet50 --train --batch 2 --buffers"),
          std::string("plan googlenet --infer --batch 2")}) {
      ExpectFits(arguments, columns);
    }
  }
}

TEST(TerminalTest, TheHelpOfEveryCommandFitsTheWidth) {
  ExpectFits("--help", 80);
  for (const Command& command : Commands()) ExpectFits(command.name + " --help", 80);
  ExpectFits("profile --help-all", 80);
}

// A newcomer sees ten options, by purpose; --help-all shows the others.
TEST(TerminalTest, TheHelpOfProfileShowsTenOptionsFirst) {
  const auto options = [](const std::string& help) {
    std::size_t count = 0;
    for (std::size_t at = help.find("\n  --"); at != std::string::npos;
         at = help.find("\n  --", at + 1)) {
      ++count;
    }
    return count;
  };
  const std::string help = OutputOf("profile --help", 80);
  EXPECT_EQ(options(help), 11u) << help;  // ... and --help-all
  EXPECT_THAT(help, HasSubstr("\nNetwork:\n"));
  EXPECT_THAT(help, Not(HasSubstr("--weight-decay")));
  const std::string all = OutputOf("profile --help-all", 80);
  EXPECT_GT(options(all), 35u) << all;
  for (const char* section : {"Network", "Input", "Timing", "Counting", "Experiments", "Output"}) {
    EXPECT_THAT(all, HasSubstr(std::string("\n") + section + ":\n"));
  }
  EXPECT_THAT(all, HasSubstr("--weight-decay"));
}

// Each command stands under the question that it answers.
TEST(TerminalTest, TheHelpListsCommandsByQuestion) {
  const std::string help = OutputOf("--help", 80);
  std::size_t last = 0;
  for (const char* heading : {"Measure ", "Explain ", "Compare ", "Share the machine ", "Scale ",
                              "Models and data:", "Keep results"}) {
    const std::size_t at = help.find(std::string("\n") + heading);
    ASSERT_NE(at, std::string::npos) << heading << help;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
  const std::size_t share = help.find("\nShare the machine");
  EXPECT_GT(help.find("\n  corun "), share);
  EXPECT_LT(help.find("\n  corun "), help.find("\nScale "));
}

TEST(TerminalTest, APipeGetsEverything) {
  for (const std::string& arguments :
       {std::string(kProfile), std::string("plan resnet50 --train --batch 2")}) {
    const std::string whole = OutputOf(arguments, 0);
    EXPECT_THAT(whole, Not(HasSubstr("\u2026")));
    EXPECT_THAT(whole, Not(HasSubstr("not shown")));
  }
  EXPECT_THAT(OutputOf("plan resnet50 --train --batch 2", 80),
              HasSubstr("not shown in 80 columns: "));
}

TEST(TerminalTest, QuietPrintsNoTable) {
  const std::string quiet = OutputOf(std::string(kProfile) + " --quiet", 0);
  EXPECT_THAT(quiet, HasSubstr("verdict: "));
  EXPECT_THAT(quiet, HasSubstr("most time: "));
  EXPECT_THAT(quiet, HasSubstr("\nstep: "));
  EXPECT_THAT(quiet, Not(HasSubstr("share %")));
  EXPECT_THAT(quiet, Not(HasSubstr("--explain")));
}

TEST(TerminalTest, TopAndColumnsSelectRowsAndColumns) {
  const std::string text =
      OutputOf(std::string(kProfile) + " --top 2 --columns stage,pass,time", 0);
  std::istringstream lines(text);
  std::vector<std::string> first;  // words of the table's lines
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    table = table || line.starts_with("stage");
    if (table) first.push_back(line.substr(0, line.find("  ")));
  }
  ASSERT_GE(first.size(), 5u) << text;
  EXPECT_EQ(first[0], "stage");
  EXPECT_EQ(text.find("GFLOP/s "), std::string::npos);
  EXPECT_EQ(first[4], "all others");
}

TEST(TerminalTest, UnknownNamesAreRefusedWithTheValidOnes) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {" --sort size",
            "no order for --sort 'size'; did you mean time?; there are: time share peak name"},
           {" --columns stage,tim", "no column 'tim'; did you mean time?"},
           {" --top 0", "--top 0: must be 1 or more"}}) {
    const Outcome outcome = RunShell(Quoted(kProgram) + " " + kProfile + arguments);
    EXPECT_EQ(outcome.exit_status, kExitUsage);
    EXPECT_THAT(outcome.output, HasSubstr(message));
  }
}

TEST(TerminalTest, TheHelpShowsDefaultsNetworksAndAnExample) {
  for (const Command& command : Commands()) {
    EXPECT_THAT(OutputOf(command.name + " --help", 160),
                HasSubstr("Example:\n  " + command.example));
    EXPECT_TRUE(command.example.starts_with("topdnn " + command.name)) << command.example;
  }
  const std::string help = OutputOf("profile --help", 160);
  EXPECT_THAT(help, HasSubstr("(default: onednn)"));
  EXPECT_THAT(help, HasSubstr("--dtype f32|bf16|f16"));
  EXPECT_THAT(help, HasSubstr("mnasnet mobilenet_v1 mobilenet_v2"));
}

TEST(NetworksTest, ListsTheZooWithItsSizes) {
  const std::string text = OutputOf("networks", 0);
  EXPECT_THAT(text, HasSubstr("network                 image  classes  layers  parameters M  "
                              "published M     GMAC  published GMAC  source\n"));
  // The numbers of parameters are torchvision's.
  EXPECT_THAT(
      text, HasSubstr("resnet50            3x224x224     1000     174        25.557       25.557   "
                      "4.0892           4.089  He et al. 2016; torchvision (v1.5)\n"));
  const TestFolder folder;
  const std::string path = folder.path() / "networks.json";
  OutputOf("networks --json " + Quoted(path), 0);
  const nlohmann::json json = ReadJson(path);
  EXPECT_EQ(json["schema"], 1);
  bool found = false;
  for (const auto& network : json["networks"]) {
    if (network["name"] != "resnet50") continue;
    found = true;
    EXPECT_EQ(network["parameters"], 25557032);
    EXPECT_EQ(network["image"], (nlohmann::json{3, 224, 224}));
    EXPECT_EQ(network["classes"], 1000);
    EXPECT_EQ(network["source"], "He et al. 2016; torchvision (v1.5)");
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace topdnn
