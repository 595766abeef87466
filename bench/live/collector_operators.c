#define _GNU_SOURCE
#include "bench/live/collector_operators.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

int BeginRange(struct Operators* operators, const char* name) {
  ++operators->depth;
  if (operators->outer != 0 || !name || !strstr(name, "::")) return 0;
  operators->outer = operators->depth;
  operators->name_bytes = (uint32_t)strnlen(name, LIVE_MOST_NAME);
  memcpy(operators->name, name, operators->name_bytes);
  return 1;
}

int EndRange(struct Operators* operators) {
  if (operators->depth == 0) return 0; /* begun before the thread was watched, or in the parent */
  return operators->depth-- == operators->outer;
}

/* ---- PyTorch's table of functions: torch/csrc/profiler/stubs/base.h, struct ProfilerStubs.
 *
 * A class of C++ with virtual functions: an object begins with the address of their table, in the
 * order of the declaration, the destructor's two at the end. Versions 1.13 to 2.14 have the same
 * (python/sitecustomize.py checks the version). */

static void (*begin_range)(const char* name);
static void (*end_range)(void);

static void Nothing(void) {}
static float Elapsed(void) { return 0; }
static int Enabled(const void* self) { return self != NULL; }
static void Push(const void* self, const char* name) {
  (void)self;
  begin_range(name);
}
static void Pop(const void* self) {
  (void)self;
  end_range();
}

static int FindPyTorch(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  if (!strstr(info->dlpi_name, "libtorch_cpu")) return 0;
  *(void**)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

int TakeRangesOfPyTorch(void (*begin)(const char* name), void (*end)(void)) {
  static void* const table[] = {(void*)Nothing, (void*)Elapsed, (void*)Nothing, (void*)Push,
                                (void*)Pop,     (void*)Enabled, (void*)Nothing, (void*)Nothing,
                                (void*)Nothing, (void*)Nothing};
  static void* const* object[1] = {table};
  void* library = NULL;
  dl_iterate_phdr(FindPyTorch, &library);
  void (*register_methods)(void*) =
      library ? (void (*)(void*))dlsym(
                    library, "_ZN5torch8profiler4impl18registerITTMethodsEPNS1_13ProfilerStubsE")
              : NULL;
  if (!register_methods) return 0;
  begin_range = begin;
  end_range = end;
  register_methods(object);
  return 1;
}
