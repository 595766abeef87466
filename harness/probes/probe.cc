#include "harness/probes/probe.h"

#include <fmt/format.h>

#include <iterator>

#include "harness/probes/catalogue.h"

namespace topdnn {

const std::vector<Probe>& Probes() {
  static const std::vector<Probe> probes = [] {
    std::vector<Probe> all;
    for (std::vector<Probe> part :
         {FmaProbes(), TileProbes(), MemoryProbes(), ControlProbes(), CoreProbes()}) {
      std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    return all;
  }();
  return probes;
}

const Probe* FindProbe(std::string_view name) {
  for (const Probe& probe : Probes()) {
    if (probe.name == name) return &probe;
  }
  return nullptr;
}

const Probe* WidestProbe(ProbeKind kind, std::string_view type) {
  const Probe* widest = nullptr;  // each part lists its probes from narrow to wide
  for (const Probe& probe : Probes()) {
    const bool fits = !probe.fma || (probe.fma->type == type && probe.fma->streamed);
    if (probe.kind == kind && fits && WhyAbsent(probe, MachineIsas()).empty()) widest = &probe;
  }
  return widest;
}

std::string WhyAbsent(const Probe& probe, const std::vector<IsaVerdict>& isas) {
  for (const IsaVerdict& verdict : isas) {
    if (verdict.isa != probe.isa) continue;
    return verdict.usable ? "" : fmt::format("{}: {}", NameOf(probe.isa), verdict.reason);
  }
  return fmt::format("{}: not known on this architecture", NameOf(probe.isa));
}

}  // namespace topdnn
