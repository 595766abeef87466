#include "bench/live/live_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "bench/command_line/command.h"
#include "bench/live/preloaded_program.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProgressInterval{500};

// Switches executions on in the log, beside what the user asks for, and the tasks unless the user
// has set them. oneDNN 1 and 2 read names with DNNL, later ones those with ONEDNN. Returns whether
// the user asked for the log.
bool SwitchOn(const std::string& library, const std::string& memory, Variables& variables) {
  const auto is_on = [&variables](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() && !found->second.empty() && found->second != "0" &&
           found->second != "none";
  };
  const bool pass_on = is_on("ONEDNN_VERBOSE") || is_on("DNNL_VERBOSE");
  if (pass_on) variables[LIVE_PASS_ON_VARIABLE] = "1";
  std::string& level = variables["ONEDNN_VERBOSE"];
  level = WithExecutions(level.empty() ? variables["DNNL_VERBOSE"] : level);
  variables["DNNL_VERBOSE"] = level == "2" ? "2" : "1";
  // Tasks of the calling threads alone: the counters are those of all threads.
  variables.emplace("ONEDNN_ITT_TASK_LEVEL", "1");
  variables.emplace("DNNL_ITT_TASK_LEVEL", "1");
  variables["INTEL_LIBITTNOTIFY64"] = library;
  variables[LIVE_PATH_VARIABLE] = memory;
  return pass_on;
}

// Lets Python import our sitecustomize.py before all others. It removes its folder from the path.
void NameCallers(const std::string& library, LiveNames names, Variables& variables) {
  const std::filesystem::path folder = std::filesystem::path(library).parent_path() / "live_python";
  if (!std::filesystem::exists(folder / "sitecustomize.py")) {
    throw UsageError(fmt::format(
        "--modules, --operators: {} has no sitecustomize.py; build the target topdnn again",
        folder.string()));
  }
  std::string& path = variables["PYTHONPATH"];
  path = folder.string() + (path.empty() ? "" : ":" + path);
  variables[LIVE_NAMES_VARIABLE] =
      fmt::format("{}{}", names.modules ? "modules " : "", names.operators ? "operators" : "");
}

}  // namespace

LiveProgram RunLive(const std::vector<std::string>& arguments, const std::vector<LiveEvent>& events,
                    LiveNames names, const std::function<void(const LiveFold& fold)>& progress,
                    int output) {
  PreloadedProgram program("--live", arguments, "libtopdnn_live.so", "use `topdnn trace --run`");
  LiveMemory memory;
  memory.head().events = static_cast<std::uint32_t>(events.size());
  std::copy(events.begin(), events.end(), memory.head().event);
  memory.head().pass_on = SwitchOn(program.library(), memory.path(), program.variables()) ? 1 : 0;
  if (names.modules || names.operators) {
    NameCallers(program.library(), names, program.variables());
  }
  LiveFold fold;
  const LiveMemory::Take take = [&fold](LiveWriter writer, const LiveRecord& record,
                                        const LiveTexts& texts) {
    fold.Add(writer, record, texts);
  };
  const Clock::time_point begin = Clock::now();
  Clock::time_point shown = begin;
  program.Start(output);
  const int status = program
                         .Wait([&] {
                           memory.Read(take);
                           const Clock::time_point now = Clock::now();
                           if (!progress || now - shown < kProgressInterval) return;
                           progress(fold);
                           shown = now;
                         })
                         .first;
  memory.Read(take);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  LiveProgram result = {ProgramEndOf(status), fold.Finish(), seconds};
  result.live.lost =
      static_cast<std::int64_t>(__atomic_load_n(&memory.head().lost, __ATOMIC_RELAXED));
  return result;
}

}  // namespace topdnn
