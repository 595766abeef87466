#include "harness/counters/source.h"

#include <algorithm>
#include <utility>

#include "harness/text/registered_list.h"

namespace topdnn {

namespace {

constinit RegisteredList<SourceOffer, &SourceOffer::name> offers("counter source");

}  // namespace

SourceRegistration::SourceRegistration(SourceOffer offer) {
  if (offer.choice.empty()) offer.choice = offer.name;
  offers.Add(std::move(offer));
}

bool AnyRunsRegion(std::span<CounterSource* const> sources) {
  return std::any_of(sources.begin(), sources.end(),
                     [](const CounterSource* source) { return source->runs_region(); });
}

const std::vector<SourceOffer>& CounterSources() { return offers.entries(); }

}  // namespace topdnn
