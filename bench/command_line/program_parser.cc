#include "bench/command_line/program_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/help/command_info.h"
#include "harness/text/style.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

OptionInfo InfoOf(const CLI::Option& option) {
  OptionInfo info;
  info.positional = option.get_positional();
  info.name = info.positional ? option.get_name(true) : "--" + option.get_lnames().front();
  if (option.get_type_size() != 0) info.value = option.get_type_name();
  info.help = option.get_description();
  if (const std::string given = option.get_default_str(); !given.empty()) {
    info.help += fmt::format(" (default: {})", given);
  }
  info.required = option.get_required();
  info.section = option.get_group();
  return info;
}

// Help that fits the width: descriptions are wrapped.
class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(int width) : width_(width) {}

  std::string make_option(const CLI::Option* option, bool positional) const override {
    const OptionInfo info = InfoOf(*option);
    std::string name = info.name;
    for (const std::string& letter : option->get_snames())
      name = fmt::format("-{}, {}", letter, name);
    if (!positional && !info.value.empty()) name += " " + info.value;
    return Entry(name, info.help + (info.required && !positional ? " (required)" : ""));
  }

  // The options that --help shows of a command that does not show all; --help-all does.
  void ShowFirst(const CLI::App& command, const std::vector<std::string>& names) {
    for (const CLI::Option* option : command.get_options()) {
      const bool shown =
          option->get_positional() ||
          std::find(names.begin(), names.end(), "--" + option->get_lnames().front()) != names.end();
      if (!shown) hidden_.insert(option);
    }
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    shows_all_ = mode == CLI::AppFormatMode::All;
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    // (a heading without options leaves an empty line)
    while (help.find("\n\n\n") != std::string::npos) help.erase(help.find("\n\n\n"), 1);
    return help;
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (!shows_all_) {
      std::erase_if(options,
                    [this](const CLI::Option* option) { return hidden_.contains(option); });
    }
    if (options.empty()) return "";
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Entry(command->get_name(), command->get_description());
  }

 private:
  static constexpr std::size_t kColumn = 26;

  std::string Entry(const std::string& name, const std::string& help) const {
    const std::string start = "  " + name;
    const std::string indent(kColumn, ' ');
    const std::string text = Wrap(indent + help, width_, kColumn);
    if (ColumnsOfText(start) + 2 > kColumn) return WrapAtBars(start) + text;
    return start + text.substr(start.size());
  }

  // Breaks "a|b|c" after a bar.
  std::string WrapAtBars(const std::string& text) const {
    const std::string open = Replaced(text, "|", "| ");
    return Replaced(Wrap(open, width_, 4), "| ", "|");
  }

  static std::string Replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    return text;
  }

  int width_;
  std::set<const CLI::Option*> hidden_;
  mutable bool shows_all_ = false;  // during make_help
};

// As the help lists them: by question, then by name.
std::vector<Command> ByQuestion() {
  std::vector<Command> commands = Commands();
  std::stable_sort(commands.begin(), commands.end(),
                   [](const Command& a, const Command& b) { return a.question < b.question; });
  return commands;
}

std::string FooterOf(const CLI::App& app, const Command& command, int width) {
  const std::string footer = app.get_footer();
  return footer + (footer.empty() ? "" : "\n\n") + "Example:\n" +
         Wrap("  " + command.example, width, 4);
}

}  // namespace

ProgramParser::ProgramParser()
    : app_("Where a CNN's time goes on this CPU, stage by stage, forward and backward", "topdnn") {
  const int width = DetectStyle(stdout).width;
  app_.require_subcommand(1);
  app_.set_help_flag("-h,--help", "print this help");
  app_.set_version_flag("--version", "topdnn " TOPDNN_VERSION, "print the version");
  const auto help = std::make_shared<WrappedHelp>(width);
  app_.formatter(help);
  for (const Command& command : ByQuestion()) {
    CLI::App* own = app_.add_subcommand(command.name, command.summary);
    own->group(HeadingOf(command.question));
    CommandParser& parser = parsers_.emplace_back(*own);
    bodies_.emplace_back(own, command.configure(parser));
    if (!parser.first().empty()) {
      own->set_help_all_flag("--help-all", "print the help with every option");
      std::vector<std::string> first = parser.first();
      first.insert(first.end(), {"--help", "--help-all"});
      help->ShowFirst(*own, first);
    }
    own->footer(FooterOf(*own, command, width));
  }
  app_.footer(
      Wrap("topdnn COMMAND --help lists the options of a command with their defaults, and "
           "an example.",
           width, 2));
}

int ProgramParser::RunChosen() const {
  for (const auto& [own, body] : bodies_) {
    if (own->parsed()) return body();
  }
  return kExitUsage;
}

std::vector<CommandInfo> CommandInfos() {
  ProgramParser parser;
  std::vector<CommandInfo> infos;
  for (const Command& command : Commands()) {
    CommandInfo info{command.name, command.summary, command.example, {}};
    for (const CLI::Option* option : parser.app().get_subcommand(command.name)->get_options()) {
      info.options.push_back(InfoOf(*option));
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace topdnn
