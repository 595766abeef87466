#include "networks/zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

// Registration objects fill it before main, in any order. Therefore it is a function-local object.
std::vector<NetworkOffer>& TheNetworks() {
  static std::vector<NetworkOffer> networks;
  return networks;
}

}  // namespace

NetworkRegistration::NetworkRegistration(NetworkOffer offer) {
  auto& networks = TheNetworks();
  const auto place = std::lower_bound(
      networks.begin(), networks.end(), offer,
      [](const NetworkOffer& a, const NetworkOffer& b) { return a.FullName() < b.FullName(); });
  if (place != networks.end() && place->FullName() == offer.FullName()) {
    throw std::logic_error(fmt::format("two networks are named {}: rename one", offer.FullName()));
  }
  networks.insert(place, std::move(offer));
}

const std::vector<NetworkOffer>& Networks() { return TheNetworks(); }

const NetworkOffer* FindNetwork(std::string_view full_name) {
  const auto& networks = TheNetworks();
  const auto found = std::find_if(
      networks.begin(), networks.end(),
      [full_name](const NetworkOffer& network) { return network.FullName() == full_name; });
  return found == networks.end() ? nullptr : &*found;
}

}  // namespace topdnn
