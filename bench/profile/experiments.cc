#include "bench/profile/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/text/registered_list.h"

namespace topdnn {

namespace {

constinit RegisteredList<ProfileExperiment, &ProfileExperiment::name> experiments("experiment");

}  // namespace

ExperimentRegistration::ExperimentRegistration(ProfileExperiment experiment) {
  experiments.Add(std::move(experiment));
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

const ProfileExperiment* FindExperiment(const std::string& name) {
  const auto& all = ProfileExperiments();
  const auto found = std::find_if(
      all.begin(), all.end(), [&name](const ProfileExperiment& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace topdnn
