#include "bench/workload/sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/command_line/command.h"
#include "harness/topdown/perf_events.h"
#include "harness/topdown/requests.h"

namespace topdnn {

namespace {

// The values of --counters.
std::vector<std::string> Choices() {
  std::vector<std::string> choices = {"auto", "none"};
  for (const SourceOffer& offer : CounterSources()) {
    if (std::find(choices.begin(), choices.end(), offer.choice) == choices.end()) {
      choices.push_back(offer.choice);
    }
  }
  return choices;
}

// DRAM traffic is counted with the metric `memory`, and if no metrics are given.
bool IsWanted(const SourceOffer& offer, const std::vector<std::string>& metrics) {
  return offer.name != "uncore" || metrics.empty() ||
         std::find(metrics.begin(), metrics.end(), "memory") != metrics.end();
}

}  // namespace

std::vector<CounterSource*> OpenedSources::Pointers() const {
  std::vector<CounterSource*> pointers;
  pointers.reserve(sources.size());
  for (const auto& source : sources) pointers.push_back(source.get());
  return pointers;
}

OpenedSources OpenSources(const std::string& counters, const std::string& metrics) {
  const std::vector<std::string> known = Choices();
  if (std::find(known.begin(), known.end(), counters) == known.end()) {
    throw UsageError(
        fmt::format("--counters {}: must be one of {}", counters, fmt::join(known, ", ")));
  }
  if (!metrics.empty() && counters != "auto" && counters != "perf") {
    throw UsageError(fmt::format("--metrics needs --counters perf or auto, not {}", counters));
  }
  OpenedSources opened;
  // The harness times stages by itself: a second clock would only repeat it.
  if (counters == "clock" || counters == "none") return opened;
  // The PMU's events come first: if they work, the two events of `hardware` would only take
  // counters from them.
  const std::vector<std::string> wanted = SplitMetrics(metrics);
  bool has_perf = false;
  std::string refusal;
  if (counters == "auto" || counters == "perf") {
    OpenedPerf perf = OpenPerf(wanted, PerfSetting::Here());
    has_perf = perf.source != nullptr;
    if (has_perf) opened.sources.push_back(std::move(perf.source));
    if (!has_perf) refusal = perf.availability.reason;
    if (!has_perf) {
      const std::string& remedy = perf.availability.remedy;
      opened.without_pmu = fmt::format("{}{}{}", refusal, remedy.empty() ? "" : "; ", remedy);
    }
    if (!has_perf || !perf.notes.empty()) {
      opened.notes.push_back(fmt::format("perf: {}", perf.availability.reason));
    }
    for (const std::string& note : perf.notes) opened.notes.push_back("perf: " + note);
  }
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.choice == "clock" || (counters != "auto" && counters != offer.choice)) continue;
    if (offer.name == "perf" || (offer.name == "hardware" && has_perf)) continue;
    if (!IsWanted(offer, wanted)) continue;
    const Availability availability = offer.probe();
    if (availability.works) {
      opened.sources.push_back(offer.open());
    } else if (availability.reason != refusal && offer.name != "energy") {
      // (already reported; few machines let a user read energy: `topdnn machine` has the reason)
      opened.notes.push_back(fmt::format("{}: {}", offer.name, availability.reason));
    }
  }
  return opened;
}

}  // namespace topdnn
