#include "harness/machine/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/files/small_file.h"

namespace topdnn {
namespace {

std::string OperatingSystem() {
  utsname names{};
  if (uname(&names) != 0) return "";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

// The version that the kernel reports for the first CPU; a guest may see a constant.
std::string Microcode() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("microcode") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::int64_t Available(const CgroupLimits& cgroup) {
  const std::string text = ReadSmallFile("/proc/meminfo").text;
  std::int64_t bytes = 0;
  if (const auto kib = ParseKeyedNumber(text, "MemAvailable")) {
    bytes = static_cast<std::int64_t>(*kib) * 1024;
  } else if (struct sysinfo now = {}; sysinfo(&now) == 0) {
    bytes = static_cast<std::int64_t>(now.freeram) * now.mem_unit;  // without the page cache
  }
  if (cgroup.memory_available) {
    bytes = std::min(bytes, static_cast<std::int64_t>(*cgroup.memory_available));
  }
  return bytes;
}

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

nlohmann::ordered_json ToJson(const Cpu& cpu) {
  return {{"vendor", cpu.vendor},
          {"brand", cpu.brand},
          {"microarchitecture", TextOrNull(cpu.microarchitecture)},
          {"family", cpu.family},
          {"model", cpu.model},
          {"stepping", cpu.stepping},
          {"hypervisor", TextOrNull(cpu.hypervisor)},
          {"invariant_tsc", cpu.invariant_tsc}};
}

nlohmann::ordered_json ToJson(const Cache& cache) {
  return {{"level", cache.level}, {"type", cache.type},           {"size", cache.size},
          {"line", cache.line},   {"instances", cache.instances}, {"shared_by", cache.shared_by}};
}

nlohmann::ordered_json ToJson(const Frequency& frequency) {
  return {{"hz", frequency.hz}, {"spread", frequency.spread}, {"windows", frequency.windows}};
}

}  // namespace

std::string HostName() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "unknown";
}

std::int64_t AvailableMemory() { return Available(ReadCgroupLimits()); }

bool MemoryIsLimited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit = {};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

Machine DescribeMachine() {
  Machine machine;
  machine.cpu = IdentifyCpu();
  machine.isas = MachineIsas();
  machine.topology = ReadTopology();
  machine.cgroup = ReadCgroupLimits();
  machine.available_memory = Available(machine.cgroup);
  machine.tsc = TscFrequency();
  const Frequency core = CoreClock();
  if (core.hz > 0) machine.core_clock = core;
  machine.operating_system = OperatingSystem();
  machine.microcode = Microcode();
  const std::string doubt = LastLevelCacheDoubt(machine.topology, !machine.cpu.hypervisor.empty());
  if (!doubt.empty()) machine.doubts.push_back(doubt);
  for (const std::string& other :
       {machine.cpu.doubt, machine.topology.caches_doubt, machine.topology.allowed_doubt}) {
    if (!other.empty()) machine.doubts.push_back(other);
  }
  if (!machine.cpu.invariant_tsc) {
    machine.doubts.emplace_back("the time-stamp counter may change its rate (not invariant)");
  }
  return machine;
}

nlohmann::ordered_json ToJson(const Machine& machine) {
  nlohmann::ordered_json json;
  json["cpu"] = ToJson(machine.cpu);
  json["isa"] = nlohmann::ordered_json::array();
  json["isa_absent"] = nlohmann::ordered_json::object();
  for (const IsaVerdict& verdict : machine.isas) {
    const std::string name(NameOf(verdict.isa));
    if (verdict.usable) {
      json["isa"].push_back(name);
    } else {
      json["isa_absent"][name] = verdict.reason;
    }
  }
  json["packages"] = machine.topology.packages;
  json["numa_nodes"] = machine.topology.numa_nodes;
  json["cores"] = machine.topology.cores;
  json["cpus"] = machine.topology.cpus;
  json["allowed_cpus"] = machine.topology.allowed;
  json["allowed_cores"] = machine.topology.allowed_cores;
  json["cpu_quota"] = OrNull(machine.cgroup.cpu_quota);
  json["caches"] = nlohmann::ordered_json::array();
  for (const Cache& cache : machine.topology.caches) json["caches"].push_back(ToJson(cache));
  json["memory"] = machine.topology.memory;
  json["memory_limit"] = OrNull(machine.cgroup.memory_limit);
  json["memory_available"] = machine.available_memory;
  json["cgroup"] = TextOrNull(machine.cgroup.source);
  json["tsc"] = ToJson(machine.tsc);
  json["core_clock"] = machine.core_clock ? ToJson(*machine.core_clock) : nullptr;
  json["operating_system"] = machine.operating_system;
  json["microcode"] = TextOrNull(machine.microcode);
  json["doubts"] = machine.doubts;
  return json;
}

}  // namespace topdnn
