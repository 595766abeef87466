#include "kernels/kernel/fidelity.h"

#include <tuple>
#include <utility>

#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

// By operation, backend and first pass. The first pass of an entry for all passes is kForward.
using Key = std::tuple<std::string, std::string, int>;
constinit Registrations<Key, FidelityEntry> entries("fidelity");

}  // namespace

FidelityDeclaration::FidelityDeclaration(FidelityEntry entry) {
  const Pass first = entry.passes.empty() ? Pass::kForward : entry.passes.front();
  Key key{entry.kind, entry.backend, static_cast<int>(first)};
  entries.Add(key, std::move(entry));
}

std::vector<FidelityEntry> FidelityEntries() { return entries.Values(); }

std::string NameOf(Fidelity fidelity) { return fidelity == Fidelity::kSame ? "same" : "ours"; }

}  // namespace topdnn
