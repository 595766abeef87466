// The results of a study on a cluster, by machine: for each machine the folder of a sweep, which
// `topdnn compare` and `topdnn report` read.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_FLEET_COLLECTION_H_
#define TOPDNN_BENCH_STUDIES_FLEET_FLEET_COLLECTION_H_

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/studies/fleet/fleet.h"
#include "bench/studies/results/result_store.h"

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

// What the nodes of a kind should have in common: CPU, caches, cores, instruction sets. `machine`:
// from a profile's JSON.
nlohmann::ordered_json HardwareOf(const nlohmann::ordered_json& machine);

// "3f2a91c0", a checksum; "unknown" for null.
std::string NameOfHardware(const nlohmann::ordered_json& hardware);

// Copies the finished cases of a study to FOLDER/MACHINE/. The same finished cases always give the
// same files, also if jobs still run or if this is called again.
Collection CollectFleet(const Fleet& fleet, const std::filesystem::path& folder);

// Stores the collected profiles, unless they are there from an earlier call. Returns how many are
// new.
std::size_t StoreCollection(const Fleet& fleet, const Collection& collection,
                            const ResultStore& store);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_FLEET_COLLECTION_H_
