// What a command takes on the command line. The parser itself is CLI11, whose header costs every
// file that includes it some five seconds to compile; the commands see this instead.

#ifndef TOPDNN_BENCH_COMMAND_PARSER_H_
#define TOPDNN_BENCH_COMMAND_PARSER_H_

#include <limits>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace topdnn {

// The numbers that an option takes, both ends included.
struct Range {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

// What the training step can hold of a rate: numbers of f32, none of them negative.
inline constexpr Range kRates{0, std::numeric_limits<float>::max()};

// A command adds each of its arguments with the variable that the parsed value goes to, which must
// live until the command runs; one that is not given keeps its value, the default. A name with
// dashes is an option (`--batch`), one without a positional argument (`NET`).
class CommandParser {
 public:
  // `app` is the command's own parser and outlives this one.
  explicit CommandParser(CLI::App& app) : app_(app) {}

  // For the types of value that command_parser.cc names: strings, numbers, lists of strings, and
  // optional ones of these. An empty value is refused; so is a number with anything after it, one
  // that its type cannot hold, nan, inf, and one outside of `range`: by a UsageError.
  template <class Value>
  void Add(const std::string& name, Value& value, const std::string& help, Range range = {});
  // As Add; the command is refused without it.
  template <class Value>
  void Require(const std::string& name, Value& value, const std::string& help);
  // A positional argument that takes any number of words, listed in the help as `shown`.
  void AddList(const std::string& name, std::vector<std::string>& values, const std::string& shown,
               const std::string& help);
  void AddFlag(const std::string& name, bool& value, const std::string& help);

  // Lets through what is not known here, for a library's own parser; OtherArguments has it once the
  // command line is parsed.
  void AllowOthers();
  std::vector<std::string> OtherArguments() const;

  // Text below the list of options.
  void SetFooter(const std::string& text);

 private:
  CLI::App& app_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_PARSER_H_
