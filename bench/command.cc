#include "bench/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <exception>
#include <new>
#include <utility>

#include "bench/command_parser.h"
#include "bench/nearest.h"

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

int Fail(const std::string& message) {
  fmt::print(stderr, "topdnn: {}\n", message);
  return kExitUsage;
}

// One line for what the parser refused.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.push_back(command.name);
    if (argc < 2) return Fail("say a command; `topdnn --help` lists them");
    return Fail(fmt::format("no command '{}'{} (`topdnn --help` lists them)", argv[1],
                            Suggestion(argv[1], names)));
  }
  const CLI::App& command = *chosen.front();
  for (const std::string& extra : command.remaining()) {
    return Fail(fmt::format("{}: no argument '{}'{} (`topdnn {} --help` lists them)",
                            command.get_name(), extra, Suggestion(extra, FlagsOf(command)),
                            command.get_name()));
  }
  return Fail(fmt::format("{}: {}", command.get_name(), error.what()));
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

int RunCommandLine(int argc, char** argv) {
  TheCommandLine() = "topdnn";
  for (int i = 1; i < argc; ++i) TheCommandLine() += fmt::format(" {}", argv[i]);

  CLI::App app("Where a CNN's time goes on this CPU, stage by stage, forward and backward",
               "topdnn");
  app.require_subcommand(1);
  std::deque<CommandParser> parsers;  // each stays where it is: the bodies refer to them
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
  } catch (const std::bad_alloc&) {
    return Fail("out of memory: take a smaller --batch");
  } catch (const std::exception& error) {
    return Fail(error.what());
  }
}

}  // namespace topdnn
