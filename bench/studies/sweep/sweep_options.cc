#include "bench/studies/sweep/sweep_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/command_line/command.h"
#include "bench/command_line/plugin_words.h"
#include "bench/studies/sweep/study.h"
#include "bench/studies/sweep/sweep_axes.h"

namespace topdnn {

namespace {

// Options of `profile` that are the same for all cases.
struct SharedOption {
  const char* option;
  const char* value;  // for the help
  const char* usual;  // empty: the profile's own
  const char* help;
};

constexpr SharedOption kSharedOptions[] = {
    {"--seconds", "S", "5", "seconds of timed steps in each case"},
    {"--iterations", "N", "", "timed steps in each case"},
    {"--counters", "auto|perf|exact|clock|none", "clock", "what counts in each case"},
    {"--data", "DIR", "", "folder with CIFAR-10 or (Fashion-)MNIST files, or `synthetic`"},
    {"--augment", "NAME,...", "", "changes of the training images"},
    {"--loaders", "N", "", "loader threads of the input pipeline"},
    {"--source-rate", "N", "", "images per second that the data source gives at most"},
};

}  // namespace

bool SweepOptions::GivesCases() const {
  for (const auto& [key, values] : axes) {
    if (!values.empty()) return true;
  }
  return !study.empty();
}

std::string SweepOptions::FirstSetting() const {
  for (const auto& [option, value] : settings) {
    if (!value.empty()) return option;
  }
  if (repeats) return "--repeats";
  return seed ? "--seed" : "";
}

SweepPlan PlanOf(const SweepOptions& options) {
  const int repeats = options.repeats.value_or(1);
  if (repeats < 1) throw UsageError(fmt::format("--repeats {}: must be 1 or more", repeats));
  SweepPlan plan{
      .values = {}, .settings = {}, .repeats = repeats, .seed = options.seed.value_or(1)};
  std::map<std::string, std::string> settings;
  for (const SharedOption& shared : kSharedOptions) settings[shared.option] = shared.usual;
  if (!options.study.empty()) {
    const Study& study = FindStudy(options.study);
    plan.values = study.values;
    for (const auto& [option, value] : study.settings) settings[option] = value;
  }
  for (const SweepAxis& axis : SweepAxes()) {
    const std::string& given = options.axes.at(axis.key);
    if (!given.empty()) plan.values[axis.key] = ParseAxis(axis, given);
  }
  for (const SharedOption& shared : kSharedOptions) {
    const std::string& given = options.settings.at(shared.option);
    const std::string& value = given.empty() ? settings[shared.option] : given;
    if (!value.empty()) plan.settings.emplace_back(shared.option, value);
    settings.erase(shared.option);
  }
  for (const auto& [option, value] : settings) plan.settings.emplace_back(option, value);
  return plan;
}

void AddSweepOptions(CommandParser& parser, SweepOptions& options) {
  for (const SweepAxis& axis : SweepAxes()) {
    parser.Add(
        axis.option + " " + axis.values, options.axes[axis.key],
        axis.usual.empty() ? axis.help : fmt::format("{} (default: {})", axis.help, axis.usual));
  }
  parser.Add(fmt::format("--study {}", fmt::join(StudyNames(), "|")), options.study,
             "a prepared sweep; other options change it");
  for (const SharedOption& shared : kSharedOptions) {
    parser.Add(fmt::format("{} {}", shared.option, shared.value), options.settings[shared.option],
               *shared.usual == 0 ? shared.help
                                  : fmt::format("{} (default: {})", shared.help, shared.usual));
  }
  AddPluginOption(parser);
  parser.Add("--repeats", options.repeats, "runs of each case, in separate rounds (default: 1)");
  parser.Add("--seed", options.seed, "seed of the order of the cases (default: 1)");
}

}  // namespace topdnn
