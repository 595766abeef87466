// `topdnn forget`: removes this program's files from the user's cache folder.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "harness/user_cache/cache_folder.h"

namespace topdnn {

namespace {

int RunForget() {
  const CacheFolder folder = CacheFolder::OfUser();
  if (folder.path().empty()) {
    fmt::print("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set\n");
    return kExitGood;
  }
  const std::vector<std::string> removed = folder.Forget();
  for (const std::string& path : removed) fmt::print("removed {}\n", path);
  if (removed.empty()) fmt::print("nothing to forget in {}\n", folder.path().string());
  return kExitGood;
}

std::function<int()> ConfigureForget(CommandParser& parser) {
  parser.AddFooter(
      "Removes selection.json (what --backend auto chose), best.json (the best that this machine "
      "has reached), checks.json (which stages agreed with the reference), form_costs.json (what "
      "instructions cost) and trials.json (which kernels crashed or hung: they are tried again) "
      "from $XDG_CACHE_HOME/topdnn, by default ~/.cache/topdnn. Other files stay.");
  return RunForget;
}

const CommandRegistration kForget({"forget", Question::kKeep,
                                   "remove what earlier runs have remembered", ConfigureForget,
                                   "topdnn forget"});

}  // namespace

}  // namespace topdnn
