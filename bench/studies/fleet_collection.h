// The results of a study on a cluster, by machine: for each machine the folder of a sweep, which
// `topdnn compare` and `topdnn report` read.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_COLLECTION_H_
#define TOPDNN_BENCH_STUDIES_FLEET_COLLECTION_H_

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/studies/fleet.h"

namespace topdnn {

// The machines of a kind with the same hardware.
struct CollectedMachine {
  std::string name{};  // "icelake-3f2a91c0": the kind, and a checksum of the hardware
  std::string cpu{};   // its brand; empty: no case was measured
  std::set<std::string> hosts{};
  nlohmann::ordered_json index{};  // of the sweep
  std::filesystem::path folder{};
};

struct Collection {
  std::vector<CollectedMachine> machines{};
  std::size_t cases = 0;  // of all kinds together
  std::size_t finished = 0;

  bool Partial() const { return finished < cases; }
};

// "3f2a91c0": equal for machines with the same CPU, caches, cores and instruction sets. `machine`:
// as in a profile's JSON.
std::string HardwareOf(const nlohmann::ordered_json& machine);

// Copies the finished cases of a study to FOLDER/MACHINE/. The same cases give the same files,
// however often and in which state of the jobs they are collected.
Collection CollectFleet(const Fleet& fleet, const std::filesystem::path& folder);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_COLLECTION_H_
