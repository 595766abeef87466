#include "bench/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <utility>

#include "bench/command_parser.h"
#include "bench/nearest.h"
#include "bench/process_setup.h"
#include "harness/report/atomic_file.h"
#include "harness/report/one_line.h"

namespace topdnn {

namespace {

// Filled by registration objects before main, in any order; hence a function-local object.
std::vector<Command>& TheCommands() {
  static std::vector<Command> commands;
  return commands;
}

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

// Prints the message in one line, whatever characters the names in it contain.
int Fail(int status, const std::string& message) {
  // (fmt::print throws where standard error is closed)
  std::fputs(fmt::format("topdnn: {}\n", OneLine(message)).c_str(), stderr);
  return status;
}

int Refuse(const std::string& message) { return Fail(kExitUsage, message); }

// Whether an error is about the user's input. True for the program's own error types, and for
// errors about an impossible shape or size. Other exceptions of the standard library, and plain
// runtime and logic errors, are failures of the system or of the program.
bool IsAboutInput(const std::exception& error) {
  const std::type_info& type = typeid(error);
  if (dynamic_cast<const WriteError*>(&error) != nullptr) return false;
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) return false;
  if (dynamic_cast<const std::runtime_error*>(&error) != nullptr) {
    return type != typeid(std::runtime_error);
  }
  return type == typeid(std::invalid_argument);
}

// Prints why the command failed. Returns the exit status.
int Explain(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return Fail(kExitWrong,
                "out of memory: use a smaller --batch, or raise the limit (ulimit -v, -d, or the "
                "control group's)");
  }
  if (dynamic_cast<const NothingMeasured*>(&error) != nullptr) {
    return Fail(kExitNothing, error.what());
  }
  if (IsAboutInput(error)) return Refuse(error.what());
  if (dynamic_cast<const WriteError*>(&error) != nullptr) return Fail(kExitWrong, error.what());
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) {
    return Fail(kExitWrong, fmt::format("{} (an input/output error); look at the file, the disk "
                                        "and the limits of this process (ulimit -a)",
                                        error.what()));
  }
  return Fail(kExitWrong,
              fmt::format("internal error: {}; report it with the command line", error.what()));
}

// One line for an error of the parser.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.push_back(command.name);
    if (argc < 2) return Refuse("say a command; `topdnn --help` lists them");
    return Refuse(fmt::format("no command '{}'{} (`topdnn --help` lists them)", argv[1],
                              Suggestion(argv[1], names)));
  }
  const CLI::App& command = *chosen.front();
  for (const std::string& extra : command.remaining()) {
    return Refuse(fmt::format("{}: no argument '{}'{} (`topdnn {} --help` lists them)",
                              command.get_name(), extra, Suggestion(extra, FlagsOf(command)),
                              command.get_name()));
  }
  return Refuse(fmt::format("{}: {}", command.get_name(), error.what()));
}

}  // namespace

CommandRegistration::CommandRegistration(Command command) {
  auto& commands = TheCommands();
  const auto place =
      std::lower_bound(commands.begin(), commands.end(), command,
                       [](const Command& a, const Command& b) { return a.name < b.name; });
  if (place != commands.end() && place->name == command.name) {
    throw std::logic_error(fmt::format("two commands are named {}: rename one", command.name));
  }
  commands.insert(place, std::move(command));
}

const std::vector<Command>& Commands() { return TheCommands(); }

const std::string& CommandLine() { return TheCommandLine(); }

namespace {

// `output`: why standard output could not be written, if that ended the command.
int Run(int argc, char** argv, std::error_code& output) {
  TheCommandLine() = "topdnn";
  for (int i = 1; i < argc; ++i) TheCommandLine() += fmt::format(" {}", argv[i]);

  CLI::App app("Where a CNN's time goes on this CPU, stage by stage, forward and backward",
               "topdnn");
  app.require_subcommand(1);
  std::deque<CommandParser>
      parsers;  // a deque keeps addresses stable: the bodies refer to its elements
  std::vector<std::pair<const CLI::App*, std::function<int()>>> bodies;
  for (const Command& command : Commands()) {
    CLI::App* own = app.add_subcommand(command.name, command.summary);
    bodies.emplace_back(own, command.configure(parsers.emplace_back(*own)));
  }
  try {
    app.parse(argc, argv);
    for (const auto& [own, body] : bodies) {
      if (own->parsed()) return body();
    }
    return kExitUsage;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error, argc, argv);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return Explain(error);
    output = error.code();
    return kExitGood;
  } catch (const std::exception& error) {
    return Explain(error);
  }
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  SetUpProcess();
  std::error_code output;
  const int status = Run(argc, argv, output);
  return FinishOutput(status, output);
}

}  // namespace topdnn
