// Reads the kernel's description of its PMUs in sysfs: one folder per PMU, with its type, its CPUs,
// the fields of its event codes and the events that it names
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events).

#ifndef TOPDNN_HARNESS_COUNTERS_SYSFS_PMU_H_
#define TOPDNN_HARNESS_COUNTERS_SYSFS_PMU_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

inline constexpr char kSysfsPmus[] = "/sys/bus/event_source/devices";

struct SysfsPmu {
  std::string name;        // "cpu_core", "uncore_imc_0"
  std::uint32_t type = 0;  // perf_event_attr.type
  std::filesystem::path folder;
  // Of its cores (file `cpus`), or for a PMU outside the cores: one per socket, to open events on
  // (file `cpumask`). Empty if there is neither file, as for the only PMU of Intel's and AMD's
  // cores.
  std::vector<int> cpus;
  bool of_core_type = false;  // lists its cores: the PMU of one core type, maybe the only type
};

// Sorted by name. PMUs without a type are omitted; empty if there is no folder.
std::vector<SysfsPmu> ReadPmus(const std::string& sysfs);

// The PMU of each core type of a hybrid CPU; empty if all cores are alike.
std::vector<SysfsPmu> CoreTypes(const std::string& sysfs);

// The CPUs of a list such as "0-3,8". Malformed parts are ignored. Pure.
std::vector<int> ParseCpuList(std::string_view text);

// Puts a value into the bits of perf_event_attr.config that a format names ("config:0-7,32-35"),
// lowest first. Absent for another field or a value with too many bits. Pure.
std::optional<std::uint64_t> PlaceBits(std::string_view format, std::uint64_t value);

// perf_event_attr.config of "event=0x04,umask=0x03", by the PMU's format. An event, umask or cmask
// that the format does not list is placed as on Intel's core PMUs. Absent for a term that cannot be
// placed.
std::optional<std::uint64_t> ConfigOf(const std::string& terms, const std::filesystem::path& pmu);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SYSFS_PMU_H_
