// A program in C that measures its own stages with libtopdnn.so:
//   cc stages.c -ltopdnn -o stages && ./stages

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <topdnn/harness.h>

enum { kNumbers = 1 << 12 };
static double numbers[kNumbers], sorted[kNumbers];

static int Compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void Sum(void* result) {
  double sum = 0;
  for (int i = 0; i < kNumbers; ++i) sum += numbers[i];
  *(double*)result = sum;
}

static int Failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, topdnn_error());
  return 1;
}

static void Print(topdnn_counts* counts) {
  for (size_t i = 0; i < topdnn_counts_size(counts); ++i) {
    double value = 0;
    if (topdnn_counts_value(counts, i, &value)) {
      printf("%s: %.0f\n", topdnn_counts_name(counts, i), value);
    } else {
      printf("%s: n/a, %s\n", topdnn_counts_name(counts, i), topdnn_counts_reason(counts, i));
    }
  }
  topdnn_counts_free(counts);
}

int main(void) {
  topdnn_profile_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.program = "stages";
  options.seconds = 0.2;
  topdnn_profile* profile = topdnn_profile_open(&options);
  if (profile == NULL) return Failed("topdnn_profile_open");
  const int32_t copy = topdnn_profile_stage(profile, "copy", "data");
  const int32_t sort = topdnn_profile_stage(profile, "sort", "data");
  for (int i = 0; i < kNumbers; ++i) numbers[i] = rand();
  while (topdnn_profile_next(profile) == 1) {
    topdnn_stage_begin(profile, copy);
    memcpy(sorted, numbers, sizeof sorted);
    topdnn_stage_end(profile);
    topdnn_stage_begin(profile, sort);
    qsort(sorted, kNumbers, sizeof sorted[0], Compare);
    topdnn_stage_end(profile);
  }
  char* table = topdnn_profile_table(profile, 0);
  if (table == NULL) return Failed("topdnn_profile_table");
  fputs(table, stdout);
  topdnn_text_free(table);
  topdnn_profile_close(profile);

  double result = 0;
  topdnn_counts* counts = topdnn_count(Sum, &result);
  if (counts == NULL) {
    Failed("topdnn_count");
  } else {
    Print(counts);
  }

  const char* events[] = {"task-clock", "page-faults"};
  topdnn_counters* counters = topdnn_counters_open(events, 2);
  if (counters == NULL || topdnn_counters_start(counters) != 0) return Failed("topdnn_counters");
  Sum(&result);
  counts = topdnn_counters_stop(counters);
  if (counts == NULL) return Failed("topdnn_counters_stop");
  Print(counts);
  topdnn_counters_close(counters);
  return result > 0 ? 0 : 1;
}
