// DRAM traffic, counted by the memory controllers: for whole sockets, including other programs.
//
// Intel's controllers name their reads and writes in sysfs (uncore_imc_*: cas_count_read and _write
// with a scale, one or two of each; clients: data_reads, data_read). AMD's events are codes
// (amd_umc_*: umc_cas_cmd.rd and .wr, 64 bytes each; amd_df of Zen 4 and later: data beats of 64
// bytes by channel; Linux pmu-events amdzen4 and amdzen5, memory-controller.json and
// data-fabric.json).

#ifndef TOPDNN_HARNESS_COUNTERS_UNCORE_H_
#define TOPDNN_HARNESS_COUNTERS_UNCORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_event.h"
#include "harness/counters/source.h"
#include "harness/counters/sysfs_pmu.h"

namespace topdnn {

struct DramEvent {
  std::string pmu{};  // "uncore_imc_0"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  int cpu = 0;  // on which the socket's events are opened
  bool write = false;
  double bytes = 64;     // per count
  std::size_t pass = 0;  // that counts it, if not all events fit the counters at once
};

// The available events, grouped by PMU and CPU; empty if no controller is known.
std::vector<DramEvent> FindDramEvents(const std::string& sysfs);

struct UncoreSetting {
  PerfSyscalls calls = PerfSyscalls::Real();
  PerfSurroundings surroundings;
  std::string sysfs = kSysfsPmus;
  static UncoreSetting Here();
};

struct OpenedUncore {
  std::unique_ptr<CounterSource> source;  // nullptr: see `availability`
  Availability availability;
};

// The source `uncore` with the events kDramReadEvent and kDramWriteEvent, in bytes. The counts are
// absent unless all controllers count: a partial sum would be wrong.
OpenedUncore OpenUncore(const UncoreSetting& setting);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_UNCORE_H_
