// How much other programs use the CPUs of this process, and which ones: two readings of the
// kernel's accounts, some time apart (proc(5), /proc/stat and /proc/PID/stat).

#ifndef TOPDNN_HARNESS_MACHINE_BUSY_H_
#define TOPDNN_HARNESS_MACHINE_BUSY_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// The accounts at one moment, in ticks.
struct CpuAccounts {
  std::uint64_t busy = 0;  // of the CPUs in question: all time but idle and waiting for I/O
  std::uint64_t all = 0;
  struct Process {
    std::string name;
    std::uint64_t ticks = 0;
    int cpu = -1;            // on which its only thread ran last; -1: not known
    bool elsewhere = false;  // that CPU is none of those in question
    bool operator==(const Process&) const = default;
  };
  std::map<int, Process> processes;  // by process id; those that are readable
};

// Reads the accounts of these CPUs, and of every process. Empty if /proc is not readable.
std::optional<CpuAccounts> ReadCpuAccounts(const std::vector<int>& cpus,
                                           const std::filesystem::path& proc = "/proc");
// The name and the ticks of a process from its stat: the name may contain spaces and parentheses.
std::optional<CpuAccounts::Process> ParseProcessStat(std::string_view stat);

// What other processes used between two readings.
struct Busy {
  int cpus = 0;
  double used = 0;  // CPUs' worth of time by others
  struct Process {
    std::string name;
    double used = 0;  // CPUs' worth of time
    int count = 1;    // processes of that name
  };
  std::vector<Process> processes;  // the busiest first, at most kMostNamed
};
inline constexpr std::size_t kMostNamed = 4;

// `own`: the process id of this process. Absent if no time passed. Pure.
std::optional<Busy> BusyBetween(const CpuAccounts& before, const CpuAccounts& after, int cpus,
                                int own);

// Above this share of the CPUs' time used by others, the machine is busy; below it, quiet. The
// kernel's threads and a terminal stay below.
inline constexpr double kMaxBusy = 0.05;
bool IsBusy(const Busy& busy);

// "other programs use 1.9 of 2 CPUs (python3 1.0, cc1plus x 2 0.9)".
std::string TextOf(const Busy& busy);

// Watches from its construction on.
class BusyWatch {
 public:
  BusyWatch();
  // Since construction, or since the last call. Absent if the accounts cannot be read, or less than
  // kLeastSeconds have passed: the accounts have a resolution of 10 ms.
  std::optional<Busy> Since();
  static constexpr double kLeastSeconds = 0.2;

 private:
  std::vector<int> cpus_;
  std::optional<CpuAccounts> before_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_BUSY_H_
