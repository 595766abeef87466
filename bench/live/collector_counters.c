#define _GNU_SOURCE
#include "bench/live/collector_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The descriptors are far above those that a program uses, which may expect 3 to be its next one.
 */
#define LEAST_DESCRIPTOR 700

struct Group {
  unsigned count; /* of its events; 0: it is not open */
  int files[LIVE_MOST_EVENTS];
};
static struct Group hardware;

static int OpenEvent(uint32_t type, uint64_t config, int exclude_kernel, int leader) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.exclude_kernel = exclude_kernel ? 1 : 0;
  attr.exclude_hv = attr.exclude_kernel;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.inherit = 1;
#ifdef PERF_ATTR_SIZE_VER7
  attr.inherit_thread = 1; /* later threads, but not child processes */
#else
  return -1;
#endif
  /* Members that are opened beside a running clock would not count before the next switch. */
  attr.disabled = leader < 0;
  const long file = syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) return -1;
  const int moved = fcntl((int)file, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
  close((int)file);
  return moved;
}

static void CloseGroup(struct Group* group) {
  for (unsigned i = 0; i < group->count; ++i) close(group->files[i]);
  group->count = 0;
}

/* Opens all events or none. */
static void OpenGroup(const struct LiveEvent* events, unsigned count, struct Group* group) {
  for (; group->count < count; ++group->count) {
    const struct LiveEvent* event = &events[group->count];
    const int leader = group->count == 0 ? -1 : group->files[0];
    const int file = OpenEvent(event->type, event->config, (int)event->exclude_kernel, leader);
    if (file < 0) {
      CloseGroup(group);
      return;
    }
    group->files[group->count] = file;
  }
  if (count > 0) ioctl(group->files[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

void OpenCounters(const struct LiveHead* head) {
  CloseGroup(&hardware);
  if (head->events <= LIVE_MOST_EVENTS) OpenGroup(head->event, head->events, &hardware);
}

/* Reads number of events, time enabled, time running, values. */
static int ReadGroup(struct Group* group, uint64_t* raw) {
  if (group->count == 0) return 0;
  const ssize_t bytes = (ssize_t)((3 + group->count) * sizeof *raw);
  if (read(group->files[0], raw, (size_t)bytes) == bytes && raw[0] == group->count) return 1;
  group->count = 0; /* the program closed it */
  return 0;
}

void ReadCounts(struct Counts* counts) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  counts->values[LIVE_TASK_CLOCK] =
      (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
  counts->values[LIVE_FAULTS] = (uint64_t)(usage.ru_minflt + usage.ru_majflt);
  counts->values[LIVE_SWITCHES] = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
  uint64_t raw[3 + LIVE_MOST_EVENTS];
  counts->flags = 0;
  if (!ReadGroup(&hardware, raw)) return;
  counts->flags = LIVE_HARDWARE;
  memcpy(&counts->values[LIVE_ENABLED], raw + 1, (2 + hardware.count) * sizeof *raw);
}

uint16_t CountsBetween(const struct Counts* before, const struct Counts* after, uint64_t* values) {
  memset(values, 0, LIVE_COUNTS * sizeof *values);
  const uint16_t flags = before->flags & after->flags;
  const unsigned end =
      flags & LIVE_HARDWARE ? (unsigned)LIVE_EVENTS + hardware.count : (unsigned)LIVE_ENABLED;
  for (unsigned i = 0; i < end; ++i) values[i] = after->values[i] - before->values[i];
  return flags;
}
