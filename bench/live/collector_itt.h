// The parts of ITT's interface that a collector needs, as in its versions 3.22 to 3.26 (oneDNN 2.6
// to 3.12): github.com/intel/ittapi, include/ittnotify.h and src/ittnotify/ittnotify_config.h.

#ifndef TOPDNN_BENCH_LIVE_COLLECTOR_ITT_H_
#define TOPDNN_BENCH_LIVE_COLLECTOR_ITT_H_

#include <pthread.h>

struct IttDomain {
  volatile int flags; /* 0: the tasks of the domain are not announced */
  const char* name;
  void* wide_name;
  int reserved1;
  void* reserved2;
  struct IttDomain* next;
};
struct IttHandle {
  const char* name;
  void* wide_name;
  int reserved1;
  void* reserved2;
  struct IttHandle* next;
};
struct IttId {
  unsigned long long parts[3];
};
struct IttFunction {
  const char* name;
  void** slot;
  void* initial;
  void* null;
  int group;
};
struct IttGlobal { /* its beginning, which all versions share */
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long initialized, mutex_initialized, atomic_counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** library_path;
  struct IttFunction* functions;
};

/* oneDNN must get domains and names from here: without them 3.12 sends no executions. The same name
 * gives the same object. */
struct IttDomain* MakeDomain(const char* name);
struct IttHandle* MakeHandle(const char* name);
/* In a forked child: the lock may have been that of another thread. */
void RenewNamesLock(void);

#endif  // TOPDNN_BENCH_LIVE_COLLECTOR_ITT_H_
