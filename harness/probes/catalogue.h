// The parts of the list of probes; each is a file of microkernels.

#ifndef TOPDNN_HARNESS_PROBES_CATALOGUE_H_
#define TOPDNN_HARNESS_PROBES_CATALOGUE_H_

#include <vector>

#include "harness/probes/probe.h"

namespace topdnn {

std::vector<Probe> FmaProbes();
std::vector<Probe> TileProbes();
std::vector<Probe> MemoryProbes();
std::vector<Probe> ControlProbes();  // branches, clock chain
std::vector<Probe> CoreProbes();     // issue, units and ports

// Fills the two panels and clears the results, for a probe with an FmaShape.
void PreparePanels(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);

// Fill the working set of a memory probe: with words whose sums stay exact, with floats, and with
// one random cycle of addresses through all lines of 64 bytes.
void PrepareWords(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);
void PrepareFloats(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);
void PrepareCycle(const Probe& probe, ProbeBuffers& buffers, Fill fill, std::uint64_t seed);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CATALOGUE_H_
