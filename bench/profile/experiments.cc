#include "bench/profile/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/command_line/command.h"
#include "harness/text/registered_list.h"

namespace topdnn {

namespace {

constinit RegisteredList<ProfileExperiment, &ProfileExperiment::name> experiments("experiment");

}  // namespace

ExperimentRegistration::ExperimentRegistration(ProfileExperiment experiment) {
  experiments.Add(std::move(experiment));
}

ConditionTimes RunRounds(const ExperimentSubject& subject, std::span<const Condition> conditions,
                         ConditionTimes& waited) {
  return RunInterleaved(conditions, {.seconds = 2 * subject.settings.seconds,
                                     .waited = &waited,
                                     .cancel = subject.settings.cancel,
                                     .progress = subject.settings.progress});
}

void AddRounds(const ConditionTimes& times, const ConditionTimes& waited, Report& report,
               const AddRecord& add) {
  const auto add_to = [&](std::size_t stage, const std::vector<std::vector<double>>& seconds,
                          const std::vector<std::size_t>& rounds, Record& record) {
    add(stage, {rounds, TimesInRounds(seconds, rounds), WhyNoResult(record)}, record);
  };
  const std::size_t stages = report.stages.size();
  for (std::size_t i = 0; i < stages; ++i) {
    add_to(i, TimesOfStage(times, i), UndisturbedRounds(TimesOfStage(waited, i)), report.stages[i]);
  }
  add_to(stages, TimesOfSequence(times), UndisturbedRounds(waited), report.step);
}

std::string WhyNoResult(const Record& record) {
  if (record.status < Status::kInvalid && record.seconds) return "";
  return fmt::format("the record is {}", NameOf(record.status));
}

const std::vector<ProfileExperiment>& ProfileExperiments() { return experiments.entries(); }

std::vector<std::string> ExperimentNames() {
  std::vector<std::string> names;
  for (const ProfileExperiment& experiment : ProfileExperiments()) names.push_back(experiment.name);
  return names;
}

std::string ExperimentsHelp() {
  std::string help;
  for (const ProfileExperiment& experiment : ProfileExperiments()) {
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", experiment.name, experiment.help);
  }
  return help;
}

std::vector<const ProfileExperiment*> ChosenExperiments(const std::vector<std::string>& requested,
                                                        bool by_default,
                                                        const ExperimentSubject& subject,
                                                        std::vector<std::string>& left_out) {
  std::vector<const ProfileExperiment*> chosen;
  const Regime regime = subject.settings.regime;
  for (const ProfileExperiment& one : ProfileExperiments()) {
    if (std::find(requested.begin(), requested.end(), one.name) != requested.end()) {
      one.check(subject);
      chosen.push_back(&one);
      continue;
    }
    if (!by_default || !one.by_default) continue;
    const auto refuse = [&](const std::string& why) {
      left_out.push_back(fmt::format("the experiment {} is left out: {}", one.name, why));
    };
    if (std::find(one.regimes.begin(), one.regimes.end(), regime) == one.regimes.end()) {
      refuse(fmt::format("it does not apply to the regime {}", NameOf(regime)));
      continue;
    }
    try {
      one.check(subject);
      chosen.push_back(&one);
    } catch (const UsageError& e) {
      refuse(e.what());
    } catch (const NothingMeasured& e) {
      refuse(e.what());
    }
  }
  return chosen;
}

const ProfileExperiment* FindExperiment(const std::string& name) {
  const auto& all = ProfileExperiments();
  const auto found = std::find_if(
      all.begin(), all.end(), [&name](const ProfileExperiment& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace topdnn
