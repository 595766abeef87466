// Replaces functions that one module of the process imports: for modules that dlopen loads with
// RTLD_DEEPBIND, which find the C library's functions before those of a preloaded library.

#ifndef TOPDNN_BENCH_LIVE_COLLECTOR_IMPORTS_H_
#define TOPDNN_BENCH_LIVE_COLLECTOR_IMPORTS_H_

struct Import {
  const char* name;
  void* function;
};

/* In the module that contains the address. */
void ReplaceImports(const void* address, const struct Import* imports, unsigned count);

#endif  // TOPDNN_BENCH_LIVE_COLLECTOR_IMPORTS_H_
