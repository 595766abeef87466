#include "harness/counters/perf_event.h"

#include <perfmon/pfmlib_perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "harness/counters/sysfs_pmu.h"

namespace topdnn {

namespace {

// Raises this process's limit of open files as far as it may (many systems allow 1024 first, and
// more on request), and returns whether that gives more. An event has a file on each thread. The
// limit stays, and processes that this one starts inherit it: it only allows more.
bool RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::optional<ResolvedEvent> ResolveBySysfs(const std::string& name, const std::string& sysfs,
                                            const std::string& pmu_name) {
  for (const SysfsPmu& pmu : ReadPmus(sysfs)) {
    std::ifstream file(pmu.folder / "events" / name);
    std::string terms;
    if ((!pmu_name.empty() && pmu.name != pmu_name) || !(file >> terms)) continue;
    if (const auto config = ConfigOf(terms, pmu.folder)) {
      return ResolvedEvent{name, pmu.type, *config, "sysfs"};
    }
  }
  return std::nullopt;
}

std::optional<ResolvedEvent> ResolveByLibpfm4(const std::string& name) {
  static const bool ready = pfm_initialize() == PFM_SUCCESS;
  if (!ready) return std::nullopt;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t encode{};
  encode.size = sizeof encode;
  encode.attr = &attr;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &encode) !=
      PFM_SUCCESS) {
    return std::nullopt;
  }
  // Only the type and the code are kept, and events count user mode. So what needs another register
  // (config1: FRONTEND_RETIRED, OFFCORE_RESPONSE) or another mode (":k") would have the count of
  // another event.
  if (attr.config1 != 0 || attr.config2 != 0 || attr.exclude_user != 0 ||
      (attr.exclude_kernel == 0 && name.find(":k") != std::string::npos)) {
    return std::nullopt;
  }
  return ResolvedEvent{name, attr.type, attr.config, "libpfm4"};
}

}  // namespace

PerfSyscalls PerfSyscalls::Real() {
  return {.open =
              [](const perf_event_attr& attr, pid_t thread, int cpu, int group) {
                const auto try_open = [&]() -> int {
                  const long fd =
                      syscall(SYS_perf_event_open, &attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC);
                  return fd < 0 ? -errno : static_cast<int>(fd);
                };
                const int fd = try_open();
                return fd == -EMFILE && RaiseFileLimit() ? try_open() : fd;
              },
          .read =
              [](int fd, void* buffer, std::size_t bytes) {
                const ssize_t got = ::read(fd, buffer, bytes);
                return got < 0 ? static_cast<ssize_t>(-errno) : got;
              },
          .control =
              [](int fd, unsigned long request, unsigned long argument) {
                return ioctl(fd, request, argument) < 0 ? -errno : 0;
              },
          .close = [](int fd) { ::close(fd); },
          .map = [](int fd) -> const perf_event_mmap_page* {
            const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
            void* page = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
            return page == MAP_FAILED ? nullptr : static_cast<perf_event_mmap_page*>(page);
          },
          .unmap =
              [](const perf_event_mmap_page* page) {
                munmap(const_cast<perf_event_mmap_page*>(page),
                       static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
              }};
}

std::optional<ResolvedEvent> ResolveEvent(const std::string& name, std::optional<std::uint64_t> raw,
                                          const std::string& sysfs, const std::string& pmu) {
  if (auto event = ResolveByLibpfm4(name)) return event;
  if (raw) return ResolvedEvent{name, PERF_TYPE_RAW, *raw, "raw"};
  return ResolveBySysfs(name, sysfs, pmu);
}

bool NeedsSlots(const ResolvedEvent& event) {
  return event.type == PERF_TYPE_RAW && event.config >= 0x8000 && event.config <= 0x8700 &&
         (event.config & 0xFF) == 0;
}

}  // namespace topdnn
