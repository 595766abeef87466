#include "bench/studies/fleet/fleet_collection.h"

#include <fmt/format.h>

#include <map>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/formats/checksum.h"
#include "bench/formats/whole_file.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;
// Of the machine in a profile: what the nodes of a kind should have in common. Their memory differs
// by some pages, and their software is compared by `compare`.
constexpr const char* kHardware[] = {
    "/cpu/vendor", "/cpu/brand", "/cpu/family", "/cpu/model", "/cpu/stepping",  "/isa",
    "/packages",   "/cores",     "/cpus",       "/caches",    "/allowed_cores", "/numa_nodes"};

// A finished case, and where it is.
struct FinishedCase {
  Json row;
  fs::path folder;  // of its task
  Json hardware;    // what the nodes of a kind have in common; null: not known
};

std::vector<FinishedCase> CasesOfKind(const Fleet& fleet, const NodeKind& kind) {
  std::vector<FinishedCase> cases;
  std::map<std::string, Json> of_host;
  for (int set = 1; set <= fleet.sets; ++set) {
    const fs::path folder = fleet.folder / Fleet::TaskName(kind, set);
    for (Json& row : fleet.RowsOf(kind, set)) {
      FinishedCase one{.row = std::move(row), .folder = folder, .hardware = nullptr};
      const std::string file = TextAt(one.row, "file");
      if (!file.empty()) {
        const Json machine =
            ReadSweepCase(folder.string(), file).json.value("machine", Json::object());
        one.hardware = HardwareOf(machine);
        of_host.emplace(TextAt(one.row, "host"), one.hardware);
      }
      cases.push_back(std::move(one));
    }
  }
  // A case without a profile ran on the machine of its host, as far as that is known.
  for (FinishedCase& one : cases) {
    if (!one.hardware.is_null()) continue;
    const auto known = of_host.find(TextAt(one.row, "host"));
    if (known != of_host.end()) one.hardware = known->second;
    if (known == of_host.end() && of_host.size() == 1) one.hardware = of_host.begin()->second;
  }
  return cases;
}

std::string BrandOf(const Json& hardware) {
  const Json brand = hardware.is_null() ? Json() : hardware.at("cpu").at("brand");
  return brand.is_string() ? brand.get<std::string>() : "";
}

void CopyCase(const FinishedCase& one, const fs::path& to) {
  const std::string file = TextAt(one.row, "file");
  if (file.empty()) return;
  const std::string text = ReadWholeFile(one.folder / file, kMostFileBytes);
  std::error_code none;
  const fs::path copy = to / file;
  if (fs::exists(copy, none) && ReadWholeFile(copy, kMostFileBytes) == text) return;
  WriteFileAtomically(copy.string(), text);
}

// The index of a sweep with the rows, in the order of the plan, without what depends on the time of
// collecting.
Json IndexOf(const Fleet& fleet, const NodeKind& kind, const std::string& name,
             const std::vector<const FinishedCase*>& cases) {
  std::map<std::string, const FinishedCase*> by_id;
  for (const FinishedCase* one : cases) by_id[TextAt(one->row, "id")] = one;
  Json index = NewIndex(fleet.plan);
  index["command"] = "topdnn fleet collect";
  index["fleet"] = fleet.id;
  index["kind"] = kind.name;
  index["machine_name"] = name;
  Json left_out = Json::array();
  for (const SweepCase& one : CasesOf(fleet.plan)) {
    const std::string id = IdOf(one, fleet.plan.settings);
    const auto found = by_id.find(id);
    if (found == by_id.end()) {
      left_out.push_back(id);
    } else {
      index["cases"].push_back(found->second->row);
    }
  }
  index["left_out"] = left_out.size();
  index["left_out_cases"] = std::move(left_out);
  return index;
}

}  // namespace

Json HardwareOf(const Json& machine) {
  Json hardware = Json::object();
  for (const char* pointer : kHardware) {
    const Json::json_pointer place(pointer);
    hardware[place] = machine.contains(place) ? machine.at(place) : Json(nullptr);
  }
  return hardware;
}

std::string NameOfHardware(const Json& hardware) {
  return hardware.is_null() ? "unknown" : Checksum(hardware.dump());
}

Collection CollectFleet(const Fleet& fleet, const fs::path& folder) {
  Collection collection;
  for (const NodeKind& kind : fleet.kinds) {
    const std::vector<FinishedCase> cases = CasesOfKind(fleet, kind);
    collection.cases += CasesOf(fleet.plan).size();
    collection.finished += cases.size();
    std::map<std::string, std::vector<const FinishedCase*>> by_hardware;
    for (const FinishedCase& one : cases) {
      by_hardware[NameOfHardware(one.hardware)].push_back(&one);
    }
    for (const auto& [hardware, own] : by_hardware) {
      CollectedMachine machine{.name = fmt::format("{}-{}", kind.name, hardware)};
      machine.folder = folder / machine.name;
      std::error_code error;
      fs::create_directories(machine.folder / "cases", error);
      if (error) {
        throw UsageError(fmt::format("{}: {}: give a folder that may be written with --out",
                                     machine.folder.string(), error.message()));
      }
      for (const FinishedCase* one : own) {
        CopyCase(*one, machine.folder);
        if (const std::string host = TextAt(one->row, "host"); !host.empty()) {
          machine.hosts.insert(host);
        }
      }
      machine.index = IndexOf(fleet, kind, machine.name, own);
      machine.index["machine"] = own.front()->hardware;
      machine.cpu = BrandOf(own.front()->hardware);
      WriteFileAtomically((machine.folder / kSweepIndex).string(), JsonText(machine.index));
      collection.machines.push_back(std::move(machine));
    }
  }
  return collection;
}

std::size_t StoreCollection(const Fleet& fleet, const Collection& collection,
                            const ResultStore& store) {
  std::size_t added = 0;
  for (const CollectedMachine& machine : collection.machines) {
    for (const Json& row : machine.index.at("cases")) {
      const std::string file = TextAt(row, "file");
      if (file.empty()) continue;
      // The same for a case whenever it is collected.
      const std::string id =
          fmt::format("{}-{}", fleet.id, Checksum(machine.name + "\n" + TextAt(row, "id")));
      if (store.AddOnce((machine.folder / file).string(), id, machine.name)) ++added;
    }
  }
  return added;
}

}  // namespace topdnn
