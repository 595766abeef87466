#include "harness/counters/open_error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "harness/machine/cpu.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kCapSysAdmin = 21;  // linux/capability.h
constexpr std::uint64_t kCapPerfmon = 38;

// A condition of a table row; a row without one always applies.
using Circumstance = bool (*)(const PerfSurroundings& here, PerfTarget target);

bool WatchdogRuns(const PerfSurroundings& here, PerfTarget) { return here.watchdog; }
bool InVirtualMachine(const PerfSurroundings& here, PerfTarget) { return here.virtual_machine; }
bool Filtered(const PerfSurroundings& here, PerfTarget) { return here.seccomp_filtered; }
// docker, podman and kubernetes start containers with few capabilities.
bool InPlainContainer(const PerfSurroundings& here, PerfTarget) {
  return here.container && !here.capable;
}
bool OfSocketsInPlainContainer(const PerfSurroundings& here, PerfTarget target) {
  return InPlainContainer(here, target) && target == PerfTarget::kSockets;
}
bool OfSockets(const PerfSurroundings&, PerfTarget target) {
  return target == PerfTarget::kSockets;
}

struct Row {
  int error;
  Circumstance when;  // nullptr: always
  // {what} the events, {paranoid} kernel.perf_event_paranoid, {error} the errno's name
  const char* reason;
  const char* remedy;
};

constexpr const char* kElsewhere =
#if defined(__x86_64__)
    "count exactly (--counters exact), or replay counts recorded elsewhere (--counters "
    "replay:FILE)";
#else
    "replay counts recorded elsewhere (--counters replay:FILE)";
#endif
constexpr const char* kNoPmuInVirtualMachine =
    "no PMU: the hypervisor gives this virtual machine none, so it has no {what} ({error})";
constexpr const char* kShowPmu =
    "enable the PMU on the host (QEMU: -cpu host,pmu=on; clouds: a bare-metal size), or replay "
    "counts recorded elsewhere";
constexpr const char* kNoPmu = "no PMU that the kernel supports, so there are no {what} ({error})";
constexpr const char* kContainer =
    "this container lacks CAP_PERFMON, and kernel.perf_event_paranoid is {paranoid}, so {what} are "
    "refused ({error})";
constexpr const char* kContainerRemedy =
    "run the container with --cap-add PERFMON, or on the host: sysctl kernel.perf_event_paranoid=1";
constexpr const char* kSocketsInContainerRemedy =
    "run the container with --cap-add PERFMON, or on the host: sysctl kernel.perf_event_paranoid=0";
constexpr const char* kSockets =
    "{what} count whole sockets, which kernel.perf_event_paranoid at {paranoid} does not allow "
    "this user ({error})";
constexpr const char* kSocketsRemedy =
    "sysctl kernel.perf_event_paranoid=0, or run with CAP_PERFMON";
constexpr const char* kParanoidRemedy = "sysctl kernel.perf_event_paranoid=1";

// The first row that applies is used.
constexpr std::array kRows = {
    Row{0, WatchdogRuns,
        "{what} open and never count: the NMI watchdog holds a counter (kernel.nmi_watchdog is 1)",
        "sysctl kernel.nmi_watchdog=0"},
    Row{0, InVirtualMachine,
        "{what} open and never count: another profiler or the hypervisor holds the counters",
        "end the other profiler"},
    Row{0, nullptr, "{what} open and never count: another profiler holds the counters",
        "end the other profiler"},

    Row{ENOENT, InVirtualMachine, kNoPmuInVirtualMachine, kShowPmu},
    Row{ENOENT, nullptr, kNoPmu, kElsewhere},
    Row{EOPNOTSUPP, InVirtualMachine, kNoPmuInVirtualMachine, kShowPmu},
    Row{EOPNOTSUPP, nullptr, kNoPmu, kElsewhere},
    Row{ENODEV, InVirtualMachine, kNoPmuInVirtualMachine, kShowPmu},
    Row{ENODEV, nullptr, kNoPmu, kElsewhere},
    Row{ENXIO, InVirtualMachine, kNoPmuInVirtualMachine, kShowPmu},
    Row{ENXIO, nullptr, kNoPmu, kElsewhere},
    Row{ENOSYS, nullptr,
        "perf_event_open does not exist: the kernel lacks it, or a sandbox hides it "
        "({error})",
        kElsewhere},

    Row{EACCES, OfSocketsInPlainContainer, kContainer, kSocketsInContainerRemedy},
    Row{EACCES, InPlainContainer, kContainer, kContainerRemedy},
    Row{EACCES, OfSockets, kSockets, kSocketsRemedy},
    Row{EACCES, nullptr,
        "kernel.perf_event_paranoid is {paranoid}, which does not allow this user {what} ({error})",
        kParanoidRemedy},
    Row{EPERM, Filtered,
        "a seccomp filter refuses perf_event_open, so {what} cannot be opened ({error})",
        "run the container with --cap-add PERFMON or --security-opt seccomp=unconfined"},
    Row{EPERM, OfSocketsInPlainContainer, kContainer, kSocketsInContainerRemedy},
    Row{EPERM, InPlainContainer, kContainer, kContainerRemedy},
    Row{EPERM, OfSockets, kSockets, kSocketsRemedy},
    Row{EPERM, nullptr,
        "the kernel does not allow this user {what}; kernel.perf_event_paranoid is {paranoid} "
        "({error})",
        kParanoidRemedy},

    Row{EMFILE, nullptr,
        "this process cannot open enough files for {what}, one per event and thread ({error})",
        "as root: ulimit -n 65536, or use fewer --threads or --metrics"},
    Row{ENFILE, nullptr,
        "the system has reached its limit of open files, so it refuses {what} ({error})",
        "sysctl fs.file-max=1000000, or end the programs that hold the files (lsof)"},
    Row{ENOMEM, nullptr, "the kernel has no memory for {what} ({error})",
        "end other programs, or raise the limit of the control group"},
    Row{ENOSPC, nullptr,
        "the kernel has no space for {what}: other programs use all of it ({error})",
        "end the other profiler or debugger, or use fewer --metrics"},
    Row{EBUSY, nullptr,
        "another program holds the PMU exclusively, so {what} are refused ({error})",
        "end the other profiler"},

    Row{ESRCH, nullptr, "a thread ended while {what} were opened on it ({error})", "run again"},
    Row{ECHILD, nullptr,
        "a group of {what} no longer has the same members on every thread ({error})",
        "run again; if it happens again, use --metrics instructions"},
    Row{E2BIG, nullptr, "this kernel is too old for the description of {what} ({error})",
        "use a newer kernel"},
    Row{EINVAL, nullptr,
        "{what} do not fit this PMU's counters together, or the kernel does not support their "
        "encoding ({error})",
        "use fewer or other --metrics"},
};

std::string NameOf(int error) {
  const char* const name = strerrorname_np(error);
  return name == nullptr ? fmt::format("error {}", error) : name;
}

}  // namespace

PerfSurroundings PerfSurroundings::Here() {
  PerfSurroundings here;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> here.paranoid;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int mode = 0;
    if (key == "Seccomp:" && status >> mode) here.seccomp_filtered = mode == 2;
    std::uint64_t capabilities = 0;
    if (key != "CapEff:" || !(status >> std::hex >> capabilities >> std::dec)) continue;
    here.capable = ((capabilities >> kCapSysAdmin | capabilities >> kCapPerfmon) & 1) != 0;
  }
  int watchdog = 0;
  std::ifstream("/proc/sys/kernel/nmi_watchdog") >> watchdog;
  here.watchdog = watchdog == 1;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    std::error_code ignored;
    here.container = here.container || std::filesystem::exists(mark, ignored);
  }
  here.virtual_machine = !IdentifyCpu().hypervisor.empty();
  return here;
}

Availability ExplainRefusal(int error, const PerfSurroundings& here, const std::string& what,
                            PerfTarget target) {
  for (const Row& row : kRows) {
    if (row.error != error || (row.when != nullptr && !row.when(here, target))) continue;
    return {.works = false,
            .reason =
                fmt::format(fmt::runtime(row.reason), fmt::arg("what", what),
                            fmt::arg("paranoid", here.paranoid), fmt::arg("error", NameOf(error))),
            .remedy = row.remedy};
  }
  return {.works = false,
          .reason = fmt::format("perf_event_open refuses {}: {} ({})", what, std::strerror(error),
                                NameOf(error)),
          .remedy = kElsewhere};
}

std::string RefusalText(int error, const PerfSurroundings& here, const std::string& what,
                        PerfTarget target) {
  const Availability refusal = ExplainRefusal(error, here, what, target);
  return fmt::format("{}; {}", refusal.reason, refusal.remedy);
}

bool RefusesInheritThread(const PerfSyscalls& calls, perf_event_attr attr, pid_t thread) {
  if (attr.inherit_thread == 0) return false;
  attr.inherit_thread = 0;
  const int fd = calls.open(attr, thread, -1, -1);
  if (fd >= 0) calls.close(fd);
  return fd >= 0;
}

std::vector<EventCount> AbsentCounts(std::size_t events, const std::string& reason) {
  return std::vector<EventCount>(
      events, {.value = std::nullopt, .running_fraction = 0.0, .reason = reason});
}

}  // namespace topdnn
