// A preloaded library that lets the Nth call of a function fail, as SQLite's tests do:
//
//   FAIL_CALL=malloc FAIL_AT=17 FAIL_TIMES=1 LD_PRELOAD=./libfail_call.so topdnn ...
//
// Calls are counted from main() on, in all threads; FAIL_TIMES=0: it and all later ones fail. With
// FAIL_REPORT=FILE a line "NAME CALLS" of each function is added to the file when the program ends.
// Each program that it starts counts by itself; a process that it forks goes on from its count.
//
// A name stands for several functions: malloc also for calloc, realloc and the aligned ones, open
// for openat and fopen, rename for renameat. Five names are no failures of a function, or of some
// of its calls only:
//
//   create       opening a file to write, and making a folder: the file system is read-only
//   short_write  write() takes half of the bytes
//   interrupted  read() or write() ends with EINTR, as after a signal
//   realtime     the clock of the day is set back by an hour at this call
//   monotonic    the other clock advances by an hour at this call: a virtual machine was paused

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
  kMalloc,
  kMmap,
  kOpen,
  kWrite,
  kFsync,
  kRename,
  kThread,
  kFork,
  kPerf,
  kDlopen,
  kAffinity,
  kCreate,
  kShortWrite,
  kInterrupted,
  kRealtime,
  kMonotonic,
  kCalls
};
static const char* const names[] = {"malloc",
                                    "mmap",
                                    "open",
                                    "write",
                                    "fsync",
                                    "rename",
                                    "pthread_create",
                                    "fork",
                                    "perf_event_open",
                                    "dlopen",
                                    "sched_setaffinity",
                                    "create",
                                    "short_write",
                                    "interrupted",
                                    "realtime",
                                    "monotonic"};

static int counting;      // in main()
static int failing = -1;  // the index of the call that fails
static long first, times;
static atomic_long calls[kCalls];
static int report = -1;

static int Fails(int call) {
  if (!counting) return 0;
  const long n = atomic_fetch_add(&calls[call], 1) + 1;
  return call == failing && n >= first && (times == 0 || n < first + times);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// ---- Memory. glibc's own names, because dlsym allocates.

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static void* NoMemory(void) {
  errno = ENOMEM;
  return NULL;
}

void* malloc(size_t size) { return Fails(kMalloc) ? NoMemory() : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return Fails(kMalloc) ? NoMemory() : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) {
  return Fails(kMalloc) ? NoMemory() : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return Fails(kMalloc) ? NoMemory() : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (Fails(kMmap)) return errno = ENOMEM, MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap(at, size, protection, flags, fd, offset);
}

// ---- Files.

static int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  if (Fails(kOpen)) return errno = EMFILE, -1;
  const int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
  if (writes && strcmp(path, "/dev/null") != 0 && Fails(kCreate)) return errno = EROFS, -1;
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE_OF(flags)                     \
  mode_t mode = 0;                         \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list more;                          \
    va_start(more, flags);                 \
    mode = va_arg(more, mode_t);           \
    va_end(more);                          \
  }

int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return OpenAt(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return OpenAt(folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  if (Fails(kOpen)) return errno = EMFILE, NULL;
  return REAL(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  if (Fails(kOpen)) return errno = EMFILE, NULL;
  return REAL(fopen64)(path, mode);
}

int mkdir(const char* path, mode_t mode) {
  if (Fails(kCreate)) return errno = EROFS, -1;
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

ssize_t write(int fd, const void* text, size_t size) {
  // (a message about the failure must be readable)
  if (fd != STDERR_FILENO) {
    if (Fails(kWrite)) return errno = ENOSPC, -1;
    if (Fails(kInterrupted)) return errno = EINTR, -1;
    if (size > 1 && Fails(kShortWrite)) size /= 2;
  }
  return syscall(SYS_write, fd, text, size);
}
// The files of /sys: no signal interrupts them.
static int NeverWaits(int fd) {
  struct statfs system;
  return fstatfs(fd, &system) == 0 && system.f_type == SYSFS_MAGIC;
}
ssize_t read(int fd, void* text, size_t size) {
  if (!NeverWaits(fd) && Fails(kInterrupted)) return errno = EINTR, -1;
  return syscall(SYS_read, fd, text, size);
}
int fsync(int fd) { return Fails(kFsync) ? (errno = EIO, -1) : (int)syscall(SYS_fsync, fd); }
int rename(const char* from, const char* to) {
  if (Fails(kRename)) return errno = EIO, -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

// ---- Processes and the kernel.

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  if (Fails(kThread)) return EAGAIN;
  return REAL(pthread_create)(thread, attributes, run, argument);
}
pid_t fork(void) {
  if (Fails(kFork)) return errno = EAGAIN, -1;
  return REAL(fork)();
}
void* dlopen(const char* path, int flags) {
  return Fails(kDlopen) ? NULL : REAL(dlopen)(path, flags);
}
int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* cpus) {
  if (Fails(kAffinity)) return errno = EINVAL, -1;
  return (int)syscall(SYS_sched_setaffinity, thread, size, cpus);
}
int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* cpus) {
  if (Fails(kAffinity)) return EINVAL;
  return REAL(pthread_setaffinity_np)(thread, size, cpus);
}

// Whether the clock was set at this call or an earlier one.
static int IsSet(int clock) {
  if (!counting) return 0;
  const long n = atomic_fetch_add(&calls[clock], 1) + 1;
  return clock == failing && n >= first;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = REAL(clock_gettime);
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME && IsSet(kRealtime)) now->tv_sec -= 3600;
  if (result == 0 && clock == CLOCK_MONOTONIC && IsSet(kMonotonic)) now->tv_sec += 3600;
  return result;
}
time_t time(time_t* result) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}

// Only perf_event_open, which has no function of its own.
static long (*real_syscall)(long, ...);
static long Syscall(long number, long a, long b, long c, long d, long e, long f);
__attribute__((visibility("default"))) long topdnn_syscall(long number, long a, long b, long c,
                                                           long d, long e,
                                                           long f) __asm__("syscall");
long topdnn_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_perf_event_open && Fails(kPerf)) return errno = ENOSPC, -1;
  return Syscall(number, a, b, c, d, e, f);
}
static long Syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (real_syscall == NULL) real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real_syscall(number, a, b, c, d, e, f);
}

// ---- From main() on.

static int (*real_main)(int, char**, char**);

static void Report(void) {
  counting = 0;
  for (int i = 0; i < kCalls && report >= 0; ++i) {
    char text[64];
    const int size = snprintf(text, sizeof text, "%s %ld\n", names[i], atomic_load(&calls[i]));
    if (syscall(SYS_write, report, text, size) < 0) report = -1;
  }
}

static int Main(int argc, char** argv, char** environment) {
  const char* const call = getenv("FAIL_CALL");
  for (int i = 0; i < kCalls; ++i) {
    if (call != NULL && strcmp(call, names[i]) == 0) failing = i;
  }
  const char* const at = getenv("FAIL_AT");
  const char* const how_often = getenv("FAIL_TIMES");
  const char* const file = getenv("FAIL_REPORT");
  first = at == NULL ? 1 : atol(at);
  times = how_often == NULL ? 1 : atol(how_often);
  if (file != NULL) {
    report =
        (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  atexit(Report);
  dlsym(RTLD_NEXT, "fork");  // (what it allocates)
  counting = 1;
  const int status = real_main(argc, argv, environment);
  counting = 0;
  return status;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*begin)(void),
                      void (*end)(void), void (*end_of_linker)(void), void* stack) {
  real_main = main;
  __typeof__(&__libc_start_main) const start = REAL(__libc_start_main);
  return start(Main, argc, argv, begin, end, end_of_linker, stack);
}
