#include "bench/command_line/help/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <string>
#include <vector>

#include "bench/command_line/help/command_info.h"
#include "bench/command_line/help/man_page.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::vector<CommandInfo> Commands() {
  return {{.name = "plan",
           .summary = "the network's stages: layouts",
           .example = "topdnn plan cnn",
           .options = {{.name = "--json", .value = "FILE", .help = "a file [- is output]"},
                       {.name = "--dtype", .value = "f32|bf16", .help = "type (default: f32)"},
                       {.name = "--quiet", .value = "", .help = "print less"},
                       {.name = "NET",
                        .value = "NET",
                        .help = "network",
                        .positional = true,
                        .required = true}}},
          {.name = "topdown",
           .summary = "counts",
           .example = "topdnn topdown --cpu zen4",
           .options = {{.name = "--cpu",
                        .value = "TEXT",
                        .help = "the CPU",
                        .positional = false,
                        .required = true}}}};
}

// The completions that bash offers for the last word. `script` defines the completion.
std::string OfferedBy(const std::string& script, const std::string& words) {
  const std::string command = script + "\nCOMP_WORDS=(" + words +
                              ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_topdnn\n"
                              "printf '%s ' \"${COMPREPLY[@]}\"\n";
  const Outcome outcome = RunShell("cd / && bash -c " + Quoted(command));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  return outcome.output;
}

TEST(BashCompletionTest, OffersCommandsOptionsValuesAndNetworks) {
  const std::string script = BashCompletion(Commands(), {"cnn", "resnet50", "resnet50:v1"});
  EXPECT_EQ(OfferedBy(script, "topdnn pl"), "plan ");
  EXPECT_EQ(OfferedBy(script, "topdnn ''"), "plan topdown --help ");
  EXPECT_EQ(OfferedBy(script, "topdnn plan --"), "--json --dtype --quiet ");
  EXPECT_EQ(OfferedBy(script, "topdnn plan --dtype b"), "bf16 ");
  EXPECT_EQ(OfferedBy(script, "topdnn plan res"), "resnet50 resnet50:v1 ");
  EXPECT_EQ(OfferedBy(script, "topdnn plan --quiet c"), "cnn ");
  EXPECT_EQ(OfferedBy(script, "topdnn plan --json et"), "etc ");
  EXPECT_EQ(OfferedBy(script, "topdnn topdown --c"), "--cpu ");
  EXPECT_EQ(OfferedBy(script, "topdnn topdown etc"), "etc ");
}

TEST(BashCompletionTest, ANameWithABlankIsOneOffer) {
  const TestFolder folder;
  folder.Write("my file.onnx", "");
  const std::string part = (folder.path() / "my").string();
  const std::string script =
      BashCompletion(Commands(), {"cnn"}) + "trap 'echo ${#COMPREPLY[@]}' EXIT";
  for (const std::string words : {"topdnn plan ", "topdnn plan --json ", "topdnn topdown "}) {
    EXPECT_EQ(OfferedBy(script, words + Quoted(part)), part + " file.onnx 1\n");
  }
}

TEST(BashCompletionTest, OffersEveryCommandOfTheProgram) {
  const Outcome written = RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " completion bash");
  ASSERT_EQ(written.exit_status, 0);
  for (const CommandInfo& command : CommandInfos()) {
    EXPECT_THAT(OfferedBy(written.output, "topdnn " + command.name), HasSubstr(command.name + " "));
    EXPECT_THAT(OfferedBy(written.output, "topdnn " + command.name + " --hel"),
                testing::StartsWith("--help "));
  }
  EXPECT_EQ(OfferedBy(written.output, "topdnn profile --sort p"), "peak ");
  EXPECT_EQ(OfferedBy(written.output, "topdnn profile --counters r"), "replay: ");
  EXPECT_EQ(OfferedBy(written.output, "topdnn completion z"), "zsh ");
  EXPECT_THAT(OfferedBy(written.output, "topdnn trace LO"), testing::Not(HasSubstr("LOG")));
  EXPECT_EQ(OfferedBy(written.output, "topdnn profile mobilenet_v"),
            "mobilenet_v1 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small ");
}

TEST(ZshCompletionTest, DescribesCommandsAndOptions) {
  EXPECT_EQ(ZshCompletion(Commands(), {"cnn", "resnet50:v1"}),
            R"(#compdef topdnn
# zsh completion of topdnn, written by: topdnn completion zsh
_topdnn_networks() {
  local -a networks=( 'cnn' 'resnet50:v1' )
  compadd -a networks
  _files -g '*.onnx'
}
_topdnn() {
  local -a commands=(
    'plan:the network'\''s stages\: layouts'
    'topdown:counts'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
    plan)
      _arguments \
        '--json[a file \[- is output\]]:FILE:_files' \
        '--dtype[type (default\: f32)]:value:(f32 bf16)' \
        '--quiet[print less]' \
        '1:NET:_topdnn_networks'
      ;;
    topdown)
      _arguments \
        '--cpu[the CPU]:TEXT:'
      ;;
  esac
}
_topdnn "$@"
)");
}

TEST(ZshCompletionTest, AListTakesAnyNumberOfFilesOrNetworks) {
  std::vector<CommandInfo> commands = {
      {.name = "report", .summary = "", .example = "", .options = {}}};
  commands[0].options = {{.name = "results", .value = "RESULT...", .help = "", .positional = true}};
  commands.push_back({.name = "efficiency", .summary = "", .example = "", .options = {}});
  commands[1].options = {{.name = "networks", .value = "NET ...", .help = "", .positional = true}};
  const std::string script = ZshCompletion(commands, {"cnn"});
  EXPECT_THAT(script, HasSubstr("'*:RESULT...:_files'\n"));
  EXPECT_THAT(script, HasSubstr("'*:NET ...:_topdnn_networks'\n"));
}

TEST(ZshCompletionTest, IsValidZsh) {
  if (RunShell("command -v zsh").exit_status != 0) GTEST_SKIP() << "zsh is not installed";
  const Outcome read =
      RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " completion zsh | zsh -n /dev/stdin");
  EXPECT_EQ(read.exit_status, 0) << read.output;
}

TEST(ManPageTest, OptionsOfASectionStandTogether) {
  std::vector<CommandInfo> commands = Commands();
  commands[0].options[0].section = "Output";
  commands[0].options[2].section = "Output";
  EXPECT_THAT(ManPage(commands), HasSubstr(R"(.PP
Output:
.TP
\fB\-\-json\fR \fIFILE\fR
a file [\- is output]
.TP
\fB\-\-quiet\fR
print less
.PP
Options:
.TP
\fB\-\-dtype\fR)"));
}

TEST(ManPageTest, HasEveryCommandWithItsOptions) {
  const std::string page = ManPage(Commands());
  EXPECT_TRUE(page.starts_with(".TH TOPDNN 1\n"));
  EXPECT_THAT(page, HasSubstr(R"(.SS plan
the network's stages: layouts.
.PP
.nf
.B topdnn plan [OPTIONS] NET
.fi
.TP
\fB\-\-json\fR \fIFILE\fR
a file [\- is output]
.TP
\fB\-\-dtype\fR \fIf32|\:bf16\fR
type (default: f32)
.TP
\fB\-\-quiet\fR
print less
.TP
\fBNET\fR
network
.PP
Example:
.PP
.RS
.nf
topdnn plan cnn
.fi
.RE
)"));
  EXPECT_THAT(page, HasSubstr(".B topdnn topdown [OPTIONS] \\-\\-cpu TEXT\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n"));
}

TEST(ManPageTest, HasEveryExitStatusOfTheReadme) {
  std::ifstream readme(TOPDNN_SOURCE_DIR "/README.md");
  int statuses = 0;
  for (std::string line; std::getline(readme, line);) {
    const std::string status = line.substr(0, line.find(" |", 2));
    if (status.size() < 3 || !status.starts_with("| ") || std::isdigit(status[2]) == 0) continue;
    ++statuses;
    EXPECT_THAT(ManPage(Commands()), HasSubstr(".TP\n" + status.substr(2) + "\n"));
  }
  EXPECT_GE(statuses, 7);
}

}  // namespace
}  // namespace topdnn
