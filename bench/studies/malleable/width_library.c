/* libtopdnn_width.so: the dynamic linker loads it into an unchanged program, whose parallel regions
   then have no more threads than topdnn allows (width_page.h).

   It has functions of the name that OpenMP's have in GCC's libgomp. Each sets the number of threads
   with omp_set_num_threads before it calls libgomp's. A region with a width of its own keeps it:
   its code may depend on it, as a primitive of oneDNN does. A process may contain several libgomps
   (wheels for Python bring renamed ones), and a call must reach the one of its caller's library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/studies/malleable/width_page.h"

#define EXPORTED __attribute__((visibility("default")))
#define MOST_RUNTIMES 4
#define CACHED_SITES 64u

struct Runtime { /* a libgomp */
  void* base;
  int (*max_threads)(void);
  void (*set_threads)(int);
  int (*level)(void);
};

/* Of a thread: what the program asked for, and what OpenMP has. */
struct Threads {
  int asked, given;
};

static struct WidthPage* page;
static struct Runtime runtimes[MOST_RUNTIMES];
static __thread struct Threads threads[MOST_RUNTIMES];
static __thread struct {
  void* site;
  int runtime;
} cached[CACHED_SITES];

__attribute__((constructor)) static void Open(void) {
  const char* path = getenv(WIDTH_PAGE_VARIABLE);
  const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) page = mapped;
  close(file);
}

static int IsLibgomp(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  const char* name = strrchr(info->dlpi_name, '/');
  if (name == NULL || strncmp(name + 1, "libgomp", 7) != 0) return 0;
  *(const char**)found = info->dlpi_name;
  return 1;
}

static int IsOurs(void* function) {
  Dl_info owner, own;
  return dladdr(function, &owner) != 0 && dladdr((void*)&page, &own) != 0 &&
         owner.dli_fbase == own.dli_fbase;
}

static void* InLibrary(const char* path, const char* name) {
  void* library = path == NULL ? NULL : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  void* function = dlsym(library, name);
  dlclose(library);
  return function == NULL || IsOurs(function) ? NULL : function;
}

/* The function of libgomp that the code at `site` would call without this library: the linker looks
   into the libraries of the program first, then into those of the caller's library. */
static void* Next(void* site, const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  Dl_info caller;
  if (function == NULL && dladdr(site, &caller) != 0) function = InLibrary(caller.dli_fname, name);
  if (function != NULL) return function;
  const char* path = NULL; /* one that was loaded for another library */
  dl_iterate_phdr(IsLibgomp, &path);
  return InLibrary(path, name);
}

/* The number of the libgomp that belongs to the code at `site`; -1: there is none. */
static int FindRuntime(void* site) {
  void* max_threads = Next(site, "omp_get_max_threads");
  Dl_info owner;
  if (max_threads == NULL || dladdr(max_threads, &owner) == 0) return -1;
  for (int i = 0; i < MOST_RUNTIMES; ++i) {
    void* base = NULL;
    if (__atomic_compare_exchange_n(&runtimes[i].base, &base, owner.dli_fbase, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        base == owner.dli_fbase) {
      runtimes[i].set_threads = (void (*)(int))Next(site, "omp_set_num_threads");
      runtimes[i].level = (int (*)(void))Next(site, "omp_get_level");
      __atomic_store_n(&runtimes[i].max_threads, (int (*)(void))max_threads, __ATOMIC_RELEASE);
      return i;
    }
  }
  return -1;
}

static int RuntimeOf(void* site) {
  const unsigned place = (unsigned)((uintptr_t)site >> 2) % CACHED_SITES;
  if (cached[place].site != site) {
    const int runtime = FindRuntime(site);
    if (runtime < 0) return -1;
    cached[place].site = site;
    cached[place].runtime = runtime;
  }
  return cached[place].runtime;
}

/* Gives OpenMP the width that is allowed now. */
static void Follow(int runtime) {
  if (page == NULL) return;
  const struct Runtime* of = &runtimes[runtime];
  struct Threads* mine = &threads[runtime];
  if (mine->asked == 0) mine->asked = mine->given = of->max_threads();
  const int allowed = __atomic_load_n(&page->width, __ATOMIC_RELAXED);
  const int width = allowed > 0 && allowed < mine->asked ? allowed : mine->asked;
  if (width == mine->given || of->level() > 0) return;
  of->set_threads(width);
  mine->given = width;
}

EXPORTED int omp_get_max_threads(void) {
  const int runtime = RuntimeOf(__builtin_return_address(0));
  if (runtime < 0) return 1;
  if (page != NULL) __atomic_fetch_add(&page->asked, 1, __ATOMIC_RELAXED);
  Follow(runtime);
  return runtimes[runtime].max_threads();
}

EXPORTED void omp_set_num_threads(int width) {
  const int runtime = RuntimeOf(__builtin_return_address(0));
  if (runtime < 0) return;
  runtimes[runtime].set_threads(width);
  threads[runtime].asked = threads[runtime].given = width;
  if (width > 0) Follow(runtime);
}

static void BeginRegion(int runtime, unsigned own) {
  if (page == NULL || runtime < 0) return;
  __atomic_fetch_add(own == 0 ? &page->regions : &page->own, 1, __ATOMIC_RELAXED);
  if (own == 0) Follow(runtime);
}

/* The functions of libgomp (GCC's libgomp_g.h) that begin a region of `width` threads. */
#define BEGINS_A_REGION(RESULT, NAME, PARAMETERS, ARGUMENTS)                             \
  EXPORTED RESULT NAME PARAMETERS;                                                       \
  EXPORTED RESULT NAME PARAMETERS {                                                      \
    void* const site = __builtin_return_address(0);                                      \
    static RESULT(*next[MOST_RUNTIMES]) PARAMETERS;                                      \
    const int runtime = RuntimeOf(site);                                                 \
    RESULT(*function)                                                                    \
    PARAMETERS = runtime < 0 ? NULL : __atomic_load_n(&next[runtime], __ATOMIC_RELAXED); \
    if (function == NULL) function = (RESULT(*) PARAMETERS)Next(site, #NAME);            \
    if (runtime >= 0) __atomic_store_n(&next[runtime], function, __ATOMIC_RELAXED);      \
    BeginRegion(runtime, width);                                                         \
    return function ARGUMENTS;                                                           \
  }

#define REGION void (*body)(void*), void *data, unsigned width
#define LOOP REGION, long begin, long end, long step
#define BEGINS_A_LOOP(NAME) \
  BEGINS_A_REGION(void, NAME, (LOOP, unsigned flags), (body, data, width, begin, end, step, flags))
#define BEGINS_A_LOOP_IN_CHUNKS(NAME)                             \
  BEGINS_A_REGION(void, NAME, (LOOP, long chunk, unsigned flags), \
                  (body, data, width, begin, end, step, chunk, flags))

BEGINS_A_REGION(void, GOMP_parallel, (REGION, unsigned flags), (body, data, width, flags))
BEGINS_A_REGION(unsigned, GOMP_parallel_reductions, (REGION, unsigned flags),
                (body, data, width, flags))
BEGINS_A_REGION(void, GOMP_parallel_sections, (REGION, unsigned count, unsigned flags),
                (body, data, width, count, flags))
BEGINS_A_LOOP_IN_CHUNKS(GOMP_parallel_loop_static)
BEGINS_A_LOOP_IN_CHUNKS(GOMP_parallel_loop_dynamic)
BEGINS_A_LOOP_IN_CHUNKS(GOMP_parallel_loop_guided)
BEGINS_A_LOOP(GOMP_parallel_loop_runtime)
BEGINS_A_LOOP_IN_CHUNKS(GOMP_parallel_loop_nonmonotonic_dynamic)
BEGINS_A_LOOP_IN_CHUNKS(GOMP_parallel_loop_nonmonotonic_guided)
BEGINS_A_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
BEGINS_A_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
