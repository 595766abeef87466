// What topdnn and libtopdnn_width.so (width_library.c) share: one page of memory. Its members are
// accessed atomically. The header is C, because the library must not need a C++ runtime.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_PAGE_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_PAGE_H_

#include <stdint.h>

/* The environment variable with the path of the page. */
#define WIDTH_PAGE_VARIABLE "TOPDNN_WIDTH_PAGE"

struct WidthPage {
  int32_t width;    /* the most threads of a parallel region, written by topdnn; 0: as many as the
                       program wants */
  uint64_t regions; /* that began with a width from OpenMP, not with one of their own */
  uint64_t own;     /* that began with a width of their own (num_threads) */
  uint64_t asked;   /* times that the program asked for the number of threads */
};

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_PAGE_H_
