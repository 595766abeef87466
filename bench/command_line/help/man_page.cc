#include "bench/command_line/help/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace topdnn {

namespace {

// Escapes text for the page. Backslashes and hyphens have a meaning in roff, and so does a dot or a
// quote at the start of a line. A line may break after a bar.
std::string Roff(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if (c == '|') {
      safe += "|\\:";
    } else {
      safe += c;
    }
  }
  const bool control = safe.starts_with('.') || safe.starts_with('\'');
  return control ? "\\&" + safe : safe;
}

std::string SynopsisOf(const CommandInfo& command) {
  std::string text = "topdnn " + command.name + " [OPTIONS]";
  for (const OptionInfo& option : command.options) {
    if (!option.positional && option.required) text += " " + option.name + " " + option.value;
  }
  for (const OptionInfo& option : command.options) {
    if (option.positional) text += option.required ? " " + option.name : " [" + option.value + "]";
  }
  return text;
}

// The options of each section together, the sections in the order of their first options.
std::vector<OptionInfo> BySection(const CommandInfo& command) {
  std::vector<std::string> sections;
  for (const OptionInfo& option : command.options) {
    if (std::find(sections.begin(), sections.end(), option.section) == sections.end()) {
      sections.push_back(option.section);
    }
  }
  std::vector<OptionInfo> sorted;
  for (const std::string& section : sections) {
    std::copy_if(command.options.begin(), command.options.end(), std::back_inserter(sorted),
                 [&section](const OptionInfo& option) { return option.section == section; });
  }
  return sorted;
}

std::string SectionOf(const CommandInfo& command) {
  std::string text = fmt::format(".SS {}\n{}.\n.PP\n.nf\n.B {}\n.fi\n", Roff(command.name),
                                 Roff(command.summary), Roff(SynopsisOf(command)));
  std::string section = "Options";
  for (const OptionInfo& option : BySection(command)) {
    if (option.section != section) {
      section = option.section;
      text += fmt::format(".PP\n{}:\n", Roff(section));
    }
    text += fmt::format(".TP\n\\fB{}\\fR", Roff(option.name));
    if (!option.positional && !option.value.empty()) {
      text += fmt::format(" \\fI{}\\fR", Roff(option.value));
    }
    text += fmt::format("\n{}\n", Roff(option.help));
  }
  return text + fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", Roff(command.example));
}

}  // namespace

std::string ManPage(std::span<const CommandInfo> commands) {
  std::string text = R"(.TH TOPDNN 1
.ad l
.nh
.SH NAME
topdnn \- where a CNN's time goes on this CPU, stage by stage, forward and backward
.SH SYNOPSIS
.B topdnn
.I COMMAND
[OPTIONS]
.SH DESCRIPTION
Times the stages of a network on this CPU, each in the network and by itself, checks each result against
a reference first, and compares each time with ceilings that it measures on the same machine.
.SH COMMANDS
)";
  for (const CommandInfo& command : commands) text += SectionOf(command);
  return text + R"(.SH EXIT STATUS
.TP
0
good
.TP
1
a result is wrong, invalid or failed, or the run itself failed
.TP
2
bad usage or input; one line says what, where, and the fix
.TP
3
nothing could be measured
.TP
4
.B compare \-\-fail\-above
cannot tell: the times allow both a change within the limit and one above it
.TP
130
interrupted; finished results are written
.TP
141
the reader of standard output has ended; the files are written
.SH ENVIRONMENT
.TP
COLUMNS
the width of tables where standard output is no terminal; without it nothing is cut
.TP
NO_COLOR
if not empty: no colours
.SH FILES
.TP
~/.cache/topdnn (or $XDG_CACHE_HOME/topdnn)
what earlier runs remembered: the best rates of this machine, and what
.B \-\-backend auto
chose
)";
}

}  // namespace topdnn
