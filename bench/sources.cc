#include "bench/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/command.h"
#include "bench/nearest.h"

namespace topdnn {

namespace {

// Clocks time the stages already; a second one would only repeat them.
bool IsClock(const SourceOffer& offer) { return offer.name == "clock" || offer.name == "tsc"; }

}  // namespace

std::vector<CounterSource*> OpenedSources::Pointers() const {
  std::vector<CounterSource*> pointers;
  pointers.reserve(sources.size());
  for (const auto& source : sources) pointers.push_back(source.get());
  return pointers;
}

OpenedSources OpenSources(const std::string& counters) {
  const std::vector<std::string> known = {"auto", "perf", "exact", "clock", "none"};
  if (std::find(known.begin(), known.end(), counters) == known.end()) {
    throw UsageError(fmt::format("--counters {}: there are {}", counters, fmt::join(known, ", ")));
  }
  OpenedSources opened;
  if (counters == "clock" || counters == "none") return opened;
  for (const SourceOffer& offer : CounterSources()) {
    if (IsClock(offer)) continue;
    if (counters != "auto" && (counters == "exact") != (offer.name == "exact")) continue;
    const Availability availability = offer.probe();
    if (availability.works) {
      opened.sources.push_back(offer.open());
    } else {
      opened.notes.push_back(fmt::format("{}: {}", offer.name, availability.reason));
    }
  }
  return opened;
}

}  // namespace topdnn
