#include "bench/studies/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/results/result_file.h"
#include "bench/studies/sweep/sweep_result.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/machine.h"
#include "harness/measure/watched_run.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Whether someone ends the sweep with its cases, as Slurm does when it cancels or requeues a job:
// all processes of the job get the signal.
bool EndedFromOutside(const ChildOutcome& outcome) {
  if (outcome.end == ChildOutcome::End::kExited) return outcome.status == kExitInterrupted;
  if (outcome.end != ChildOutcome::End::kSignalled || outcome.out_of_memory) return false;
  if (outcome.status == SIGTERM || outcome.status == SIGINT) return true;
  // If SIGKILL was meant for this process, too, it arrives during this half second.
  if (outcome.status == SIGKILL) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return false;
}

class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, const SweepLimits& limits, const std::string& program,
           const SweepFolder& folder, const std::function<void(const SweepProgress&)>& progress)
      : plan_(plan),
        limits_(limits),
        program_(program),
        folder_(folder),
        progress_(progress),
        cpus_(static_cast<int>(AllowedCpus().cpus.size())) {
    index_ = NewIndex(plan);
    if (!folder.before().is_null()) {
      index_["cases"] = FinishedRows(plan, folder.before().at("cases"), folder.PathOf(""));
    }
    std::set<std::string> finished;
    for (const Json& row : index_["cases"]) finished.insert(TextAt(row, "id"));
    for (SweepCase& one : CasesOf(plan)) {
      std::string id = IdOf(one, plan.settings);
      const bool is_finished = finished.contains(id);
      kinds_[KindOf(one)].left += is_finished ? 0 : 1;
      schedule_.push_back({std::move(one), std::move(id), is_finished});
    }
  }

  Json Run() {
    Write();
    for (Scheduled& scheduled : schedule_) {
      if (scheduled.finished) continue;
      if (Cancelled() || !RunCase(scheduled)) break;
    }
    Write();
    return index_;
  }

 private:
  struct Scheduled {
    SweepCase of;
    std::string id;
    bool finished;
  };
  // Cases of a network and mode take about the same time.
  struct Kind {
    double seconds = 0;  // of `timed` cases
    int timed = 0;
    std::size_t left = 0;  // cases that have not finished
  };

  bool Cancelled() const { return IsCancelled(limits_.cancel); }
  double Passed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double SecondsLeft() const {
    return limits_.most_seconds ? *limits_.most_seconds - Passed() : limits_.most_seconds_of_case;
  }

  // Absent before the first case of the kind.
  static std::optional<double> ExpectedSeconds(const Kind& kind) {
    if (kind.timed == 0) return std::nullopt;
    return kind.seconds / static_cast<double>(kind.timed);
  }
  static std::string KindOf(const SweepCase& one) {
    return one.values.at("network") + " " + one.values.at("mode");
  }

  std::optional<double> RemainingSeconds() const {
    double seconds = 0;
    for (const auto& [name, kind] : kinds_) {
      if (kind.left == 0) continue;
      const auto expected = ExpectedSeconds(kind);
      if (!expected) return std::nullopt;
      seconds += *expected * static_cast<double>(kind.left);
    }
    return seconds;
  }

  void Report(const std::string& id, const Json* row) {
    if (!progress_) return;
    std::size_t left = 0;
    for (const auto& [name, kind] : kinds_) left += kind.left;
    progress_({.done = schedule_.size() - left,
               .all = schedule_.size(),
               .id = id,
               .row = row,
               .remaining_seconds = RemainingSeconds()});
  }

  // Returns false if the case does not fit into the time, or was cancelled.
  bool RunCase(Scheduled& scheduled) {
    const auto& [one, id, _] = scheduled;
    Kind& kind = kinds_[KindOf(one)];
    if (limits_.most_seconds &&
        (SecondsLeft() <= 0 || ExpectedSeconds(kind).value_or(0) > SecondsLeft())) {
      // A case of another network may be shorter.
      return SecondsLeft() > 0;
    }
    Report(id, nullptr);
    ChildProgram child;
    child.arguments =
        ArgumentsOf(one, plan_.settings, folder_.PathOf(SweepFolder::CaseFile(id)), cpus_);
    child.arguments.insert(child.arguments.begin(), program_);
    child.environment = EnvironmentOf(one);
    child.log = folder_.LogOf(id);
    child.most_seconds = std::min(limits_.most_seconds_of_case, SecondsLeft());
    child.cancel = limits_.cancel;
    // An earlier sweep may have left one, which would be the result of a case that fails.
    std::error_code ignored;
    std::filesystem::remove(folder_.PathOf(SweepFolder::CaseFile(id)), ignored);
    const ChildOutcome outcome = RunChild(child);
    if (outcome.end == ChildOutcome::End::kCancelled) return false;
    const bool by_budget = outcome.end == ChildOutcome::End::kTimedOut &&
                           outcome.seconds < limits_.most_seconds_of_case;
    if (by_budget || EndedFromOutside(outcome)) return false;
    Json row = RowOf(one, plan_.settings);
    row["process_seconds"] = outcome.seconds;
    // Slurm's name of the node may differ from the host's.
    const char* const node = std::getenv("SLURMD_NODENAME");
    row["host"] = node != nullptr ? node : HostName();
    const Json profile = FindProfile(folder_.PathOf(""), id);
    if (profile.is_null()) {
      AddEnd(outcome, row);
    } else {
      AddProfile(profile, SweepFolder::CaseFile(id), row);
      // (in a replay it is the recording's, or null)
      const auto seconds = profile.find("measuring_seconds");
      if (seconds != profile.end() && seconds->is_number()) {
        measuring_ += std::min(seconds->get<double>(), outcome.seconds);
      }
    }
    kind.seconds += outcome.seconds;
    ++kind.timed;
    --kind.left;
    processes_ += outcome.seconds;
    scheduled.finished = true;
    index_["cases"].push_back(row);
    if (profile.is_null() || WritingIsCheap()) Write();
    Report(id, &row);
    return true;
  }

  // The index holds all cases, so writing it after each of n costs n^2. FinishedRows finds the rows
  // that are not written yet by their profiles.
  bool WritingIsCheap() const {
    constexpr double kShare = 0.05;
    return writing_seconds_ <= kShare * (Passed() - written_at_);
  }

  void Write() {
    const double begin = Passed();
    std::vector<std::string> left_out;
    for (const Scheduled& scheduled : schedule_) {
      if (!scheduled.finished) left_out.push_back(scheduled.id);
    }
    index_["left_out"] = left_out.size();
    index_["left_out_cases"] = std::move(left_out);
    index_["seconds"] = {{"all", begin}, {"processes", processes_}, {"measuring", measuring_}};
    folder_.Write(index_);
    written_at_ = Passed();
    writing_seconds_ = written_at_ - begin;
  }

  const SweepPlan& plan_;
  const SweepLimits& limits_;
  const std::string& program_;
  const SweepFolder& folder_;
  const std::function<void(const SweepProgress&)>& progress_;
  const int cpus_;
  const Clock::time_point begin_ = Clock::now();
  Json index_;
  std::vector<Scheduled> schedule_;
  std::map<std::string, Kind> kinds_;  // by network and mode
  double written_at_ = 0, writing_seconds_ = 0;
  double processes_ = 0;
  double measuring_ = 0;
};

}  // namespace

std::vector<SweepCase> CasesOf(const SweepPlan& plan) {
  const std::vector<SweepCase> all = ScheduleOf(plan.values, plan.repeats, plan.seed);
  std::vector<SweepCase> part;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto owner = i % static_cast<std::size_t>(plan.parts);
    if (owner + 1 == static_cast<std::size_t>(plan.part)) part.push_back(all[i]);
  }
  return part;
}

Json FinishedRows(const SweepPlan& plan, const Json& rows, const std::string& folder) {
  std::map<std::string, Json> by_id;
  Json finished = Json::array();
  for (const Json& row : rows) {
    if (by_id.emplace(TextAt(row, "id"), row).second) finished.push_back(row);
  }
  for (const SweepCase& one : CasesOf(plan)) {
    const std::string id = IdOf(one, plan.settings);
    if (by_id.contains(id)) continue;
    const Json profile = FindProfile(folder, id);
    if (profile.is_null()) continue;
    Json row = RowOf(one, plan.settings);
    AddProfile(profile, SweepFolder::CaseFile(id), row);
    finished.push_back(std::move(row));
  }
  return finished;
}

Json NewIndex(const SweepPlan& plan) {
  return {{"schema", kResultSchema}, {"command", CommandLine()},
          {"axes", plan.values},     {"settings", plan.settings},
          {"repeats", plan.repeats}, {"seed", plan.seed},
          {"part", plan.part},       {"parts", plan.parts},
          {"cases", Json::array()},  {"left_out", 0}};
}

SweepPlan PlanOf(const Json& index, const std::string& path) {
  try {
    return {.values = index.at("axes").get<AxisValues>(),
            .settings = index.at("settings").get<CaseSettings>(),
            .repeats = index.at("repeats").get<int>(),
            .seed = index.at("seed").get<std::uint64_t>(),
            .part = index.value("part", 1),
            .parts = std::max(1, index.value("parts", 1))};
  } catch (const Json::exception&) {
    throw UsageError(fmt::format(
        "{}: its index does not say which cases it has: give the options of the sweep again",
        path));
  }
}

bool IsMeasured(const std::string& status) { return status == "OK" || status == "DEGRADED"; }

int ExitStatusOf(const std::vector<const Json*>& indices) {
  bool measured = false;
  bool wrong = false;
  for (const Json* index : indices) {
    for (const Json& row : index->at("cases")) {
      const std::string status = TextAt(row, "status");
      const bool good = IsMeasured(status);
      measured = measured || good;
      wrong = wrong || (!good && status != "SKIPPED");
    }
  }
  if (Interrupted()) return kExitInterrupted;
  return wrong ? kExitWrong : measured ? kExitGood : kExitNothing;
}

Json RunSweep(const SweepPlan& plan, const SweepLimits& limits, const std::string& program,
              const SweepFolder& folder,
              const std::function<void(const SweepProgress&)>& progress) {
  return SweepRun(plan, limits, program, folder, progress).Run();
}

}  // namespace topdnn
