#include "harness/counters/event_group.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace topdnn {

PerfSurroundings PerfSurroundings::Here() {
  PerfSurroundings here;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> here.paranoid;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int mode = 0;
    if (key == "Seccomp:" && status >> mode) here.seccomp_filtered = mode == 2;
    std::uint64_t capabilities = 0;
    if (key != "CapEff:" || !(status >> std::hex >> capabilities >> std::dec)) continue;
    // CAP_SYS_ADMIN is 21, CAP_PERFMON 38 (linux/capability.h).
    here.capable = ((capabilities >> 21 | capabilities >> 38) & 1) != 0;
  }
  int watchdog = 0;
  std::ifstream("/proc/sys/kernel/nmi_watchdog") >> watchdog;
  here.watchdog = watchdog == 1;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    std::error_code ignored;
    here.container = here.container || std::filesystem::exists(mark, ignored);
  }
#if defined(__x86_64__)
  // CPUID.1:ECX[31] is set by hypervisors alone (AMD APM volume 3, CPUID Fn0000_0001).
  unsigned a = 0, b = 0, c = 0, d = 0;
  here.virtual_machine = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 31 & 1u) != 0;
#endif
  return here;
}

namespace {

// As docker, podman and kubernetes start containers: no capability beyond their short list.
Availability LacksCapability(int error, const PerfSurroundings& here, const std::string& what) {
  return {.works = false,
          .reason = fmt::format("this container lacks CAP_PERFMON, and kernel.perf_event_paranoid "
                                "is {}, so {} are refused ({})",
                                here.paranoid, what, strerrorname_np(error)),
          .remedy =
              "run the container with --cap-add PERFMON, or on the host: sysctl "
              "kernel.perf_event_paranoid=1"};
}

}  // namespace

Availability ExplainRefusal(int error, const PerfSurroundings& here, const std::string& what) {
  const auto refused = [](std::string reason, std::string remedy) {
    return Availability{.works = false, .reason = std::move(reason), .remedy = std::move(remedy)};
  };
  switch (error) {
    case 0:
      if (here.watchdog) {
        return refused(fmt::format("{} open and never count: the NMI watchdog holds a counter "
                                   "(kernel.nmi_watchdog is 1)",
                                   what),
                       "sysctl kernel.nmi_watchdog=0");
      }
      return refused(fmt::format("{} open and never count: another profiler{} holds the counters",
                                 what, here.virtual_machine ? " or the hypervisor" : ""),
                     "end the other profiler");
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
    case ENXIO:
      return here.virtual_machine
                 ? refused(fmt::format("no PMU: the hypervisor shows this virtual machine none, so "
                                       "{} do not exist ({})",
                                       what, strerrorname_np(error)),
                           "have the host show one (QEMU: -cpu host,pmu=on; clouds: a bare-metal "
                           "size), or replay counts recorded elsewhere")
                 : refused(fmt::format("no PMU that the kernel knows, so {} do not exist ({})",
                                       what, strerrorname_np(error)),
                           "");
    case EACCES:
      if (here.container && !here.capable) return LacksCapability(error, here, what);
      return refused(fmt::format("kernel.perf_event_paranoid is {}, which refuses {} to this user "
                                 "(EACCES)",
                                 here.paranoid, what),
                     "sysctl kernel.perf_event_paranoid=1");
    case EPERM:
      if (here.seccomp_filtered) {
        return refused(fmt::format("a seccomp filter refuses perf_event_open, so {} cannot be "
                                   "opened (EPERM)",
                                   what),
                       "run the container with --cap-add PERFMON or --security-opt "
                       "seccomp=unconfined");
      }
      if (here.container && !here.capable) return LacksCapability(error, here, what);
      return refused(fmt::format("the kernel refuses {} to this user, with "
                                 "kernel.perf_event_paranoid at {} (EPERM)",
                                 what, here.paranoid),
                     "sysctl kernel.perf_event_paranoid=1");
    case ENOSYS:
      return refused(
          "perf_event_open does not exist here: a kernel without it, or a sandbox that "
          "hides it (ENOSYS)",
          "");
    case ECHILD:
      return refused(
          fmt::format(
              "the kernel found the members of a group of {} out of step with their threads "
              "(ECHILD)",
              what),
          "start again; if it stays, ask for less: --metrics instructions");
    case EINVAL:
      return refused(
          fmt::format("{} do not fit this PMU's counters together, or the kernel does not "
                      "know their encoding (EINVAL)",
                      what),
          "ask for fewer or other --metrics");
    case EMFILE:
      return refused("too many open files for one counter a thread (EMFILE)", "ulimit -n 65536");
    case EBUSY:
      return refused(
          fmt::format("someone else holds the PMU exclusively, so {} are refused (EBUSY)", what),
          "end the other profiler");
    default:
      return refused(fmt::format("perf_event_open refuses {}: {}", what, std::strerror(error)), "");
  }
}

}  // namespace topdnn
