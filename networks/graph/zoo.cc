#include "networks/graph/zoo.h"

#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

// By full name.
constinit Registrations<std::string, NetworkOffer> networks("network");

}  // namespace

PublishedTotals TotalsOfTorchvision(std::optional<double> parameters, double gmacs) {
  PublishedTotals totals{.macs = PublishedFigure{gmacs * 1e9, 1e6}, .source = "torchvision 0.15"};
  if (parameters) totals.parameters = PublishedFigure{*parameters, 1};
  return totals;
}

NetworkRegistration::NetworkRegistration(const NetworkOffer& offer) {
  networks.Add(offer.FullName(), offer);
}

std::vector<NetworkOffer> Networks() { return networks.Values(); }

const NetworkOffer* FindNetwork(std::string_view full_name) { return networks.Find(full_name); }

}  // namespace topdnn
