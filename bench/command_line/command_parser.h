// The arguments and options of a command. The parser is CLI11; its header adds about five seconds
// to the compilation of each file that includes it, so the commands include this header instead.

#ifndef TOPDNN_BENCH_COMMAND_LINE_COMMAND_PARSER_H_
#define TOPDNN_BENCH_COMMAND_LINE_COMMAND_PARSER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace topdnn {

// The numbers that an option accepts, including both ends.
struct Range {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

// The rates that the training step can represent: f32 numbers of 0 or more.
inline constexpr Range kRates{0, std::numeric_limits<float>::max()};

// A command adds each of its arguments with the variable for the parsed value. The variable must
// live until the command runs; it keeps its value, the default, if the argument is not given. A
// name with dashes is an option (`--batch`); a name without dashes is a positional argument
// (`NET`). The name may be followed by a space and a value for the help: "--json FILE", or "--dtype
// f32|bf16|f16" if the value must be one of these names. The completion offers files for FILE,
// folders for DIR, networks for NET, and the names to choose from.
class CommandParser {
 public:
  // `app` is the command's CLI11 parser and outlives this object.
  explicit CommandParser(CLI::App& app) : app_(app) {}

  // Takes the types that command_parser.cc lists: strings, numbers, lists of strings, and optional
  // values of these types. Throws UsageError for an empty value, text after a number, nan, inf, and
  // a number outside its type or `range`.
  template <class Value>
  void Add(const std::string& name, Value& value, const std::string& help, Range range = {});
  // As Add; the argument is mandatory.
  template <class Value>
  void Require(const std::string& name, Value& value, const std::string& help);
  // A positional argument that takes any number of words, listed in the help as `shown`.
  void AddList(const std::string& name, std::vector<std::string>& values, const std::string& shown,
               const std::string& help);
  // The mandatory NET. The networks of the zoo are listed below the options.
  void RequireNetwork(std::string& value);
  void AddFlag(const std::string& name, bool& value, const std::string& help);
  // The options on the command line, once it is parsed: "--batch".
  std::vector<std::string> GivenOptions() const;
  // Throws UsageError if one of `names` is given: "--seed: has no effect with --trace: leave it
  // out", where `why` is "with --trace".
  void Refuse(const std::vector<std::string>& names, const std::string& why) const;
  // Refuses all options but `names`.
  void RefuseAllBut(const std::vector<std::string>& names, const std::string& why) const;
  // Sets `given` if the option `name`, which was added, is on the command line.
  void NoteGiven(const std::string& name, bool& given);
  // An option that is given as `--name`, which sets `alone`, or as `--name=VALUE`.
  void AddOptional(const std::string& name, const std::string& alone, std::string& value,
                   const std::string& help);
  // An option that is given as `--name`, which sets `alone`, as `--name N` or as `--name=N`.
  void AddOptionalNumber(const std::string& name, std::int64_t alone,
                         std::optional<std::int64_t>& value, const std::string& help,
                         Range range = {});
  // An option that takes one value, and may be given several times.
  void AddRepeated(const std::string& name, std::vector<std::string>& values,
                   const std::string& help);

  // Accepts unknown arguments, for a library's own parser. OtherArguments returns them once the
  // command line is parsed.
  void AllowOthers();
  std::vector<std::string> OtherArguments() const;

  // The heading in the help under which the options that are added next stand: "Timing".
  void Section(const std::string& heading) { section_ = heading; }
  // The options that `--help` shows, if it does not show all; `--help-all` does. By name,
  // "--batch".
  void ShowFirst(const std::vector<std::string>& names) { first_ = names; }
  const std::vector<std::string>& first() const { return first_; }

  // A paragraph below the list of options.
  void AddFooter(const std::string& text);

 private:
  CLI::App& app_;
  std::string section_ = "Options";
  std::vector<std::string> first_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_COMMAND_PARSER_H_
