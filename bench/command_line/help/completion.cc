#include "bench/command_line/help/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string_view>

namespace topdnn {

namespace {

std::vector<std::string> FlagsOf(const CommandInfo& command) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : command.options) {
    if (!option.positional) flags.push_back(option.name);
  }
  return flags;
}

bool TakesNetwork(const CommandInfo& command) {
  for (const OptionInfo& option : command.options) {
    if (option.positional && option.value.starts_with("NET")) return true;
  }
  return false;
}

// The possible values of the positional arguments, besides files.
std::vector<std::string> NamesOf(const CommandInfo& command,
                                 const std::vector<std::string>& networks) {
  if (TakesNetwork(command)) return networks;
  for (const OptionInfo& option : command.options) {
    if (option.positional) return ChoicesOf(option.value);
  }
  return {};
}

bool IsFile(const OptionInfo& option) {
  return option.value.ends_with("FILE") || option.value.ends_with("FILE.npy");
}

// The bash command that offers the values of an option; empty: they are not known.
std::string BashValues(const OptionInfo& option) {
  const std::vector<std::string> choices = ChoicesOf(option.value);
  if (!choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", fmt::join(choices, " "));
  }
  if (IsFile(option)) return "_topdnn_files -f";
  return option.value == "DIR" ? "_topdnn_files -d" : "";
}

// Escapes text for a zsh specification in single quotes, where quotes, brackets, colons and
// backslashes have a meaning.
std::string ZshText(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

// The zsh specification of a value: ":FILE:_files".
std::string ZshValues(const OptionInfo& option) {
  if (option.value.empty()) return "";
  const std::vector<std::string> choices = ChoicesOf(option.value);
  if (!choices.empty())
    return ZshText(fmt::format("({})", fmt::join(choices, " "))).insert(0, ":value:");
  const std::string label = ":" + ZshText(option.value) + ":";
  if (IsFile(option)) return label + "_files";
  if (option.value == "DIR") return label + "_files -/";
  return option.value.starts_with("NET") ? label + "_topdnn_networks" : label;
}

}  // namespace

std::vector<std::string> ChoicesOf(const std::string& value) {
  if (value.find('|') == std::string::npos || value.ends_with("...")) return {};
  std::vector<std::string> choices;
  std::istringstream rest(value);
  for (std::string choice; std::getline(rest, choice, '|');) {
    constexpr std::string_view kOfFile = ":FILE";
    if (choice.ends_with(kOfFile)) choice.erase(choice.size() - kOfFile.size() + 1);
    choices.push_back(choice);
  }
  return choices;
}

std::string BashCompletion(std::span<const CommandInfo> commands,
                           const std::vector<std::string>& networks) {
  std::vector<std::string> names;
  std::string values;
  std::string words;
  for (const CommandInfo& command : commands) {
    names.push_back(command.name);
    for (const OptionInfo& option : command.options) {
      if (option.positional) continue;
      if (const std::string offer = BashValues(option); !offer.empty()) {
        values += fmt::format("    '{} {}') {}; return ;;\n", command.name, option.name, offer);
      }
    }
    words +=
        fmt::format("    {}) words='{}'; names='{}'; hidden='{}' ;;\n", command.name,
                    fmt::join(FlagsOf(command), " "), fmt::join(NamesOf(command, networks), " "),
                    TakesNetwork(command) ? "!*.onnx" : "");
  }
  return fmt::format(R"(# bash completion of topdnn, written by: topdnn completion bash
_topdnn_files() {{
  mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen "$@" -- "$cur")
  [[ $names ]] || compopt -o filenames 2>/dev/null
}}
_topdnn() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words= names= hidden=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{} --help' -- "$cur"))
    return
  fi
  case "${{COMP_WORDS[1]}} $previous" in
{}  esac
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$names" -- "$cur"))
    _topdnn_files -f -X "$hidden"
  fi
}}
complete -F _topdnn topdnn
)",
                     fmt::join(names, " "), values, words);
}

std::string ZshCompletion(std::span<const CommandInfo> commands,
                          const std::vector<std::string>& networks) {
  std::string summaries;
  std::string cases;
  for (const CommandInfo& command : commands) {
    summaries += fmt::format("    '{}:{}'\n", command.name, ZshText(command.summary));
    cases += fmt::format("    {})\n      _arguments", command.name);
    int place = 0;
    for (const OptionInfo& option : command.options) {
      std::string values = ZshValues(option);
      if (option.positional) {
        const bool list = option.value.ends_with("...");
        if (list && values.ends_with(':')) values += "_files";
        cases += fmt::format(" \\\n        '{}{}'", list ? "*" : std::to_string(++place), values);
      } else {
        cases += fmt::format(" \\\n        '{}[{}]{}'", option.name, ZshText(option.help), values);
      }
    }
    cases += "\n      ;;\n";
  }
  std::string quoted;
  for (const std::string& network : networks) quoted += fmt::format(" '{}'", network);
  return fmt::format(R"(#compdef topdnn
# zsh completion of topdnn, written by: topdnn completion zsh
_topdnn_networks() {{
  local -a networks=({} )
  compadd -a networks
  _files -g '*.onnx'
}}
_topdnn() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
{}  esac
}}
_topdnn "$@"
)",
                     quoted, summaries, cases);
}

}  // namespace topdnn
