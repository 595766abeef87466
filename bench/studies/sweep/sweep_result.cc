#include "bench/studies/sweep/sweep_result.h"

#include <fmt/format.h>
#include <string.h>

#include "bench/command_line/command.h"
#include "bench/command_line/sudden_end.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// The value at a path of keys; null if there is none.
Json At(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    const auto member = at->is_object() ? at->find(key) : at->end();
    if (!at->is_object() || member == at->end()) return nullptr;
    at = &*member;
  }
  return *at;
}

// Adds the times of the steps that were fed by their input pipeline.
void AddFedStep(const Json& fed, Json& row) {
  row["step"] = {{"seconds", At(fed, {"step", "seconds"})},
                 {"mean", At(fed, {"step", "mean"})},
                 {"ci95", At(fed, {"step", "ci95"})}};
  // Medians: a part's median is never above the step's. Only the means sum to the step's.
  for (const char* part : {"compute", "input_wait", "other"}) {
    row[part] = At(fed, {part, "seconds", "median"});
  }
  for (const char* part : {"step", "compute", "input_wait", "other"}) {
    row["means"][part] = At(fed, {part, "mean"});
  }
  row["images_per_second"] = At(fed, {"images_per_second"});
}

bool IsAboutMemory(const std::string& line) {
  return line.find("out of memory") != std::string::npos ||
         (line.find(" needs ") != std::string::npos && line.find(" MiB") != std::string::npos);
}

std::string SignalText(int signal) {
  const char* const name = sigabbrev_np(signal);  // (real-time signals have none)
  if (name == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, sigdescr_np(signal));
}

std::string WithoutProgram(const std::string& line) {
  constexpr std::string_view kName = "topdnn: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

}  // namespace

void AddProfile(const Json& profile, const std::string& file, Json& row) {
  row["file"] = file;
  const Json threads = At(profile, {"threads"});
  if (!threads.is_null()) row["threads"] = threads;
  row["status"] = At(profile, {"step", "status"});
  row["reason"] = At(profile, {"step", "reason"});
  if (row["status"] == "FAILED" || row["status"] == "INVALID") return;
  if (const Json fed = At(profile, {"fed_step"}); !fed.is_null()) AddFedStep(fed, row);
}

void AddEnd(const ChildOutcome& outcome, Json& row) {
  const std::string line = WithoutProgram(outcome.last_line);
  switch (outcome.end) {
    case ChildOutcome::End::kTimedOut:
      row["status"] = "TIMEOUT";
      row["reason"] = fmt::format("it was ended after {:.0f} s", outcome.seconds);
      return;
    case ChildOutcome::End::kSignalled:
      row["status"] = outcome.out_of_memory ? "OUT_OF_MEMORY" : "CRASHED";
      row["reason"] = outcome.out_of_memory
                          ? "the kernel ended it because the machine's memory was used up"
                          : SignalText(outcome.status);
      return;
    case ChildOutcome::End::kCancelled:
    case ChildOutcome::End::kExited:
      break;
  }
  const bool impossible = outcome.status == kExitUsage || outcome.status == kExitNothing;
  row["status"] = IsCrashLine(line)     ? "CRASHED"
                  : IsAboutMemory(line) ? "OUT_OF_MEMORY"
                  : impossible          ? "SKIPPED"
                                        : "FAILED";
  row["reason"] =
      line.empty() ? fmt::format("exit status {} without a message", outcome.status) : line;
}

}  // namespace topdnn
