#include "bench/command_line/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <system_error>
#include <utility>

#include "bench/command_line/command_words.h"
#include "bench/command_line/ending.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/command_line/nearest.h"
#include "bench/command_line/plugin_words.h"
#include "bench/command_line/process_setup.h"
#include "bench/command_line/program_parser.h"
#include "bench/command_line/sudden_end.h"
#include "harness/text/one_line.h"
#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

constinit Registrations<std::string, Command> registered("command");

std::string& TheCommandLine() {
  static std::string line;
  return line;
}

// Long flags of a parser, "--batch".
std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string Suggestion(const std::string& given, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(given, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

// The new spelling of an option of an earlier version; empty: there is none.
std::string NewSpelling(const std::string& given) {
  static const std::map<std::string, std::string> spellings = {
      {"--trace", "--timeline"},
      {"--bencher", "--export bencher=FILE"},
      {"--benchmark-action", "--export benchmark-action=FILE"},
      {"--markdown", "--export markdown=FILE"},
      {"--openmetrics", "--export openmetrics=FILE"},
      {"--toplev-csv", "--export toplev-csv=FILE"},
  };
  const auto found = spellings.find(given.substr(0, given.find('=')));
  return found == spellings.end() ? "" : fmt::format("; it is {} now", found->second);
}

// Prints the message in one line, whatever characters the names in it contain.
int Fail(int status, const std::string& message) {
  // (fmt::print throws where standard error is closed)
  std::fputs(fmt::format("topdnn: {}\n", OneLine(message)).c_str(), stderr);
  return status;
}

int Refuse(const std::string& message) { return Fail(kExitUsage, message); }

// Prints why the command failed. Returns the exit status.
int Explain(const std::exception_ptr& failure) {
  const Ending ending = EndingOf(failure);
  return Fail(ending.status, ending.line);
}

// One line for an error of the parser.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.push_back(command.name);
    if (argc < 2) return Refuse("give a command; `topdnn --help` lists them");
    return Refuse(fmt::format("no command '{}'{} (`topdnn --help` lists them)", argv[1],
                              Suggestion(argv[1], names)));
  }
  const CLI::App& command = *chosen.front();
  for (const std::string& extra : command.remaining()) {
    const std::string renamed = command.get_name() == "profile" ? NewSpelling(extra) : "";
    return Refuse(fmt::format(
        "{}: no argument '{}'{} (`topdnn {} --help` lists them)", command.get_name(), extra,
        renamed.empty() ? Suggestion(extra, FlagsOf(command)) : renamed, command.get_name()));
  }
  return Refuse(fmt::format("{}: {}", command.get_name(), error.what()));
}

}  // namespace

std::string HeadingOf(Question question) {
  switch (question) {
    case Question::kMeasure:
      return "Measure where the time goes, and what this machine can do";
    case Question::kExplain:
      return "Explain what runs, and what limits it";
    case Question::kCompare:
      return "Compare results, and find the fastest";
    case Question::kShare:
      return "Share the machine among workloads";
    case Question::kScale:
      return "Scale over processes and nodes";
    case Question::kModels:
      return "Models and data";
    case Question::kKeep:
      return "Keep results, and complete the command line";
  }
  return "";
}

CommandRegistration::CommandRegistration(const Command& command) {
  registered.Add(command.name, command);
}

std::vector<Command> Commands() { return registered.Values(); }

const std::string& CommandLine() { return TheCommandLine(); }

namespace {

// (std::cout would lose the reason why a write failed)
int Print(const std::string& text, std::error_code& output) {
  try {
    fmt::print("{}", text);
  } catch (const std::system_error& error) {
    output = error.code();
  }
  return kExitGood;
}

// `output`: why standard output could not be written, if that ended the command.
int Run(int argc, char** argv, std::error_code& output) {
  std::vector<std::string> words = {"topdnn"};
  words.insert(words.end(), argv + std::min(argc, 1), argv + argc);
  TheCommandLine() = JoinedWords(words);
  try {
    LoadPluginsOf(words);
    TryKernelsOfLibraries();
    words = WithJoinedValues(std::move(words));
  } catch (const std::exception&) {
    return Explain(std::current_exception());
  }

  ProgramParser parser;
  CLI::App& app = parser.app();
  try {
    // (CLI11 takes them from the last to the first, without the program's name)
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    return parser.RunChosen();
  } catch (const CLI::CallForHelp&) {
    return Print(app.help(), output);
  } catch (const CLI::CallForAllHelp&) {
    return Print(app.help("", CLI::AppFormatMode::All), output);
  } catch (const CLI::CallForVersion& version) {
    return Print(fmt::format("{}\n", version.what()), output);
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error, argc, argv);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return Explain(std::current_exception());
    output = error.code();
    return kExitGood;
  } catch (const std::exception&) {
    return Explain(std::current_exception());
  }
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  SetUpProcess();
  int status = kExitGood;
  if (IsRescue(argc, argv, status)) return status;
  std::error_code output;
  try {
    status = Run(argc, argv, output);
  } catch (const std::exception&) {  // of its preparation
    status = Explain(std::current_exception());
  }
  return FinishOutput(status, output);
}

}  // namespace topdnn
