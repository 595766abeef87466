// A command of the program (`topdnn NAME ...`). Each command's file registers it:
//
//   const CommandRegistration kMachine({"machine", Question::kMeasure,
//                                       "this machine, its measured ceilings, ...",
//                                       ConfigureMachine, "topdnn machine --json machine.json"});
//
// so adding a command means adding one file.

#ifndef TOPDNN_BENCH_COMMAND_LINE_COMMAND_H_
#define TOPDNN_BENCH_COMMAND_LINE_COMMAND_H_

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/text/errors.h"

namespace topdnn {

class CommandParser;

// Exit statuses of the program (a contract with scripts).
inline constexpr int kExitGood = 0;
inline constexpr int kExitWrong = 1;          // a result is wrong, invalid or failed; input and
                                              // output, memory or the program itself failed
inline constexpr int kExitUsage = 2;          // bad usage or input
inline constexpr int kExitNothing = 3;        // nothing could be measured
inline constexpr int kExitCannotTell = 4;     // compare --fail-above: the times allow both
inline constexpr int kExitInterrupted = 130;  // SIGINT, SIGTERM; finished results are written

// Bad usage or input, of a command: one line that says what is wrong, where, and how to fix it.
class UsageError : public InputError {
 public:
  using InputError::InputError;
};

// Nothing of what was requested can be measured on this machine: one line that says why and what
// would help. Ends the program with kExitNothing.
class NothingMeasured : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a user wants: `topdnn --help` lists the commands by it, in this order.
enum class Question { kMeasure, kExplain, kCompare, kShare, kScale, kModels, kKeep };
// The heading in the help: "Share the machine among workloads".
std::string HeadingOf(Question question);

struct Command {
  std::string name;
  Question question;
  std::string summary;
  // Adds the command's options to its parser. Returns the function to run once they are parsed,
  // which returns the exit status.
  std::function<int()> (*configure)(CommandParser& parser);
  std::string example;  // a command line, for the help
};

class CommandRegistration {
 public:
  explicit CommandRegistration(const Command& command);
};

// Every registered command, sorted by name.
std::vector<Command> Commands();

// The complete command line as one text, for records (JoinedWords of command_words.h).
const std::string& CommandLine();

// Parses the command line and runs the command. Returns the exit status; errors are printed to
// standard error in one line each.
int RunCommandLine(int argc, char** argv);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_COMMAND_H_
