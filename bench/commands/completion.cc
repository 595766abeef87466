// `topdnn completion bash|zsh|man`: scripts for the shell's completion, and the manual page.

#include "bench/command_line/help/completion.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/help/command_info.h"
#include "bench/command_line/help/man_page.h"
#include "bench/command_line/nearest.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

int PrintCompletion(const std::string& kind) {
  CheckName("completion", kind, {"bash", "zsh", "man"});
  const std::vector<CommandInfo> commands = CommandInfos();
  std::vector<std::string> networks;
  for (const NetworkOffer& network : Networks()) networks.push_back(network.FullName());
  if (kind == "man") {
    fmt::print("{}", ManPage(commands));
  } else {
    fmt::print("{}", kind == "bash" ? BashCompletion(commands, networks)
                                    : ZshCompletion(commands, networks));
  }
  return kExitGood;
}

std::function<int()> ConfigureCompletion(CommandParser& parser) {
  auto kind = std::make_shared<std::string>();
  parser.Require("KIND bash|zsh|man", *kind, "bash, zsh, or man for the manual page");
  return [kind] { return PrintCompletion(*kind); };
}

const CommandRegistration kCompletion(
    {"completion", Question::kKeep,
     "a script that completes the command line in a shell, or the manual page", ConfigureCompletion,
     "topdnn completion bash > ~/.local/share/bash-completion/completions/topdnn"});

}  // namespace

}  // namespace topdnn
