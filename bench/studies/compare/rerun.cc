#include "bench/studies/compare/rerun.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/process/temporary_folder.h"
#include "bench/studies/results/result_file.h"
#include "harness/report/registry.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

// The options of `profile` that name a file it writes.
std::set<std::string> OutputOptions() {
  std::set<std::string> options = {"--record", "--store", "--export", "--exact-baseline"};
  for (const FileReport& file : FileReports()) options.insert("--" + file.name);
  return options;
}

// A side of a case.
struct Side {
  const char* name;
  std::string program;
  std::vector<std::string> arguments;
  std::vector<ComparedRun> runs;
  std::string isa;
};

ComparedRun RunOnce(const Side& side, const std::filesystem::path& folder) {
  constexpr double kMostSeconds = 24 * 3600;
  ChildProgram child;
  child.arguments = {side.program};
  child.environment = EnvironmentOfIsa(side.isa);
  child.arguments.insert(child.arguments.end(), side.arguments.begin(), side.arguments.end());
  const std::string json = folder / "profile.json";
  child.arguments.insert(child.arguments.end(), {"--json", json});
  child.log = folder / "output";
  child.most_seconds = kMostSeconds;
  child.cancel = &InterruptFlag();
  std::error_code ignored;
  std::filesystem::remove(json, ignored);
  const ChildOutcome outcome = RunChild(child);
  if (Interrupted()) throw Interruption("interrupted before the last run");
  // (an INVALID step is a result, too)
  const bool ended = outcome.end == ChildOutcome::End::kExited &&
                     (outcome.status == kExitGood || outcome.status == kExitWrong);
  if (ended && std::filesystem::exists(json)) return RunOfProfile(ReadResult(json).json);
  const std::string how =
      outcome.end == ChildOutcome::End::kTimedOut
          ? fmt::format("did not end in {:.0f} h", kMostSeconds / 3600)
          : fmt::format("ended with {} {}",
                        outcome.end == ChildOutcome::End::kExited ? "status" : "signal",
                        outcome.status);
  throw NothingMeasured(fmt::format("a run of {} {}: {} ({})", side.name, how, outcome.last_line,
                                    JoinedWords(child.arguments)));
}

}  // namespace

std::vector<std::string> ArgumentsToRepeat(const std::string& command, const std::string& where) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("--rerun: {}: {}: give profiles that `topdnn profile` measured", where, why));
  };
  const std::optional<std::vector<std::string>> words = SplitWords(command);
  if (!words || words->size() < 3) refuse("records no command");
  if ((*words)[0] != "topdnn" || (*words)[1] != "profile") {
    refuse("its command is not `topdnn profile`");
  }
  const std::set<std::string> outputs = OutputOptions();
  std::vector<std::string> kept;
  for (std::size_t i = 1; i < words->size(); ++i) {
    const std::string& word = (*words)[i];
    const std::string option = word.substr(0, word.find('='));
    if (word.find("replay:") != std::string::npos) refuse("is a replay");
    if (!outputs.contains(option)) {
      kept.push_back(word);
    } else if (option == word) {
      ++i;  // its value
    }
  }
  return kept;
}

namespace {

// Times are compared, so this program leaves out the experiments of its own accord.
std::vector<std::string> ArgumentsOfSide(const std::string& command, const std::string& where,
                                         bool own_program) {
  std::vector<std::string> arguments = ArgumentsToRepeat(command, where);
  const bool asked = std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.starts_with("--experiment") || word == "--no-experiments";
  });
  if (own_program && !asked) arguments.emplace_back("--no-experiments");
  return arguments;
}

}  // namespace

void Rerun(const RerunOptions& options, ComparedResults& results) {
  const std::string self = OwnProgram();
  const TemporaryFolder folder;
  const std::size_t all = results.cases.size() * 2 * static_cast<std::size_t>(options.repeats);
  std::size_t done = 0;
  for (ComparedCase& both : results.cases) {
    Side a{"A",
           options.program_a.empty() ? self : options.program_a,
           ArgumentsOfSide(both.a.front().command, "A", options.program_a.empty()),
           {},
           both.a.front().isa};
    Side b{"B",
           options.program_b.empty() ? self : options.program_b,
           ArgumentsOfSide(both.b.front().command, "B", options.program_b.empty()),
           {},
           both.b.front().isa};
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const bool a_first = repeat % 2 == 0;
      for (Side* side : {a_first ? &a : &b, a_first ? &b : &a}) {
        if (options.progress) {
          options.progress(fmt::format("run {} of {}: {} {}", done + 1, all, side->name, both.name),
                           static_cast<double>(done) / static_cast<double>(all));
        }
        side->runs.push_back(RunOnce(*side, folder.path()));
        ++done;
      }
    }
    both.a = std::move(a.runs);
    both.b = std::move(b.runs);
  }
}

}  // namespace topdnn
