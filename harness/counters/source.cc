#include "harness/counters/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

// Filled by registration objects before main, in any order; hence a function-local object.
std::vector<SourceOffer>& TheOffers() {
  static std::vector<SourceOffer> offers;
  return offers;
}

}  // namespace

SourceRegistration::SourceRegistration(SourceOffer offer) {
  auto& offers = TheOffers();
  const auto place =
      std::lower_bound(offers.begin(), offers.end(), offer,
                       [](const SourceOffer& a, const SourceOffer& b) { return a.name < b.name; });
  if (place != offers.end() && place->name == offer.name) {
    throw std::logic_error(fmt::format("the counter source '{}' is registered twice", offer.name));
  }
  if (offer.choice.empty()) offer.choice = offer.name;
  offers.insert(place, std::move(offer));
}

const std::vector<SourceOffer>& CounterSources() { return TheOffers(); }

}  // namespace topdnn
