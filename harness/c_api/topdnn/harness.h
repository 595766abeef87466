// The harness of topdnn for programs in C, and for every language that calls C: clocks, times of
// stages with a verdict, counters over all threads of the process, exact counts of a function.
//
// The library is libtopdnn.so (`cc program.c -ltopdnn`). No function throws or ends the process.
// One that fails returns NULL, or a negative number, and topdnn_error() has the reason in one line.
// A handle belongs to the thread that uses it: no two threads may use one at the same time.
// docs/python.md has an example.

#ifndef TOPDNN_HARNESS_C_API_TOPDNN_HARNESS_H_
#define TOPDNN_HARNESS_C_API_TOPDNN_HARNESS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

// The version of this interface. With the same number, a later libtopdnn.so may have more
// functions; the existing ones stay as they are.
#define TOPDNN_HARNESS_ABI 1

// TOPDNN_HARNESS_ABI of the library that is loaded, and topdnn's own version: "0.1.0".
int32_t topdnn_harness_abi(void);
const char* topdnn_version(void);

// Why the last function of this thread that failed did so; "" if none failed. Valid until the
// thread's next call of the library.
const char* topdnn_error(void);

// ---- The clock: the cheapest one that can be trusted here.

// Ticks now, and the seconds between two readings; negative if the clock went backwards.
uint64_t topdnn_now(void);
double topdnn_seconds_between(uint64_t from, uint64_t to);
// "tsc", or "CLOCK_MONOTONIC_RAW" without an invariant time stamp counter.
const char* topdnn_clock(void);

// ---- Counts: a list of names with values. A value that was not counted is absent, never 0.

typedef struct topdnn_counts topdnn_counts;

size_t topdnn_counts_size(const topdnn_counts* counts);
const char* topdnn_counts_name(const topdnn_counts* counts, size_t index);
// Returns 1 and sets *value (unless `value` is NULL), or 0 if the value is absent.
int32_t topdnn_counts_value(const topdnn_counts* counts, size_t index, double* value);
// Why the value is absent, or how it was counted; "" if there is nothing to say.
const char* topdnn_counts_reason(const topdnn_counts* counts, size_t index);
void topdnn_counts_free(topdnn_counts* counts);

// ---- Exact counts.

// Runs function(argument) once, translated, and counts its instructions, FLOPs, loads and stores,
// with those of its OpenMP workers (libgomp). If other threads worked meanwhile, the counts are
// INCOMPLETE: all are absent, and the reason says why. Only one count runs at a time in a process.
// The function must return: it may not throw, and not jump out.
topdnn_counts* topdnn_count(void (*function)(void*), void* argument);

// ---- Counters of the kernel and the PMU over all threads of the process, with those that start
// while they count. Processes that the program starts are not counted.

typedef struct topdnn_counters topdnn_counters;

// `events`: names of the kernel ("task-clock" in ns, "page-faults", "context-switches",
// "cpu-migrations") or of the PMU, in user mode ("cycles", "instructions", names of libpfm4). An
// unknown name fails. An event that this machine does not count is absent in the counts.
topdnn_counters* topdnn_counters_open(const char* const* events, size_t count);
// Counts from now on; and the counts since then. Both return quickly enough to be called often, but
// use some system calls per thread and event.
int32_t topdnn_counters_start(topdnn_counters* counters);
topdnn_counts* topdnn_counters_stop(topdnn_counters* counters);
void topdnn_counters_close(topdnn_counters* counters);

// ---- Times of stages. A profile consists of steps, and each step of the same stages:
//
//   topdnn_profile* profile = topdnn_profile_open(NULL);
//   int32_t conv1 = topdnn_profile_stage(profile, "conv1", "forward");
//   while (topdnn_profile_next(profile) == 1) {
//     topdnn_stage_begin(profile, conv1);
//     ...
//     topdnn_stage_end(profile);
//   }
//   char* json = topdnn_profile_json(profile);
//
// A stage that runs several times in a step has the sum of its times. Stages do not nest.

typedef struct topdnn_profile topdnn_profile;

typedef struct topdnn_profile_options {
  uint32_t size;        // sizeof(topdnn_profile_options)
  const char* command;  // how the program was started, for the report; NULL: unknown
  const char* program;  // its name, for the report; NULL: unknown
  double seconds;       // of timed steps, for topdnn_profile_next; 0: 1 s
  double
      empty_seconds;  // the time of an empty stage in the caller's language; 0: of these functions
} topdnn_profile_options;

// NULL stands for options of 0.
topdnn_profile* topdnn_profile_open(const topdnn_profile_options* options);
void topdnn_profile_close(topdnn_profile* profile);

// The number of the stage of this name and pass; makes it if there is none. `pass`: "forward",
// "backward", "update", or any other group of stages; NULL: "".
int32_t topdnn_profile_stage(topdnn_profile* profile, const char* name, const char* pass);

// Ends the step that runs. Returns 1 and begins another one, until the warm-up is over and the
// timed steps took `seconds`, and enough of them are undisturbed; then 0.
int32_t topdnn_profile_next(topdnn_profile* profile);

// For a program with a loop of its own. Without them, a step begins where its first stage begins
// again. They return 0.
int32_t topdnn_step_begin(topdnn_profile* profile);
int32_t topdnn_step_end(topdnn_profile* profile);

// Around a stage: a reading of the clock each. They return 0.
int32_t topdnn_stage_begin(topdnn_profile* profile, int32_t stage);
int32_t topdnn_stage_end(topdnn_profile* profile);

// The seconds of the stage that ended last, with an empty stage in them: of empty stages, they are
// the `empty_seconds` of a caller in another language.
double topdnn_stage_seconds(const topdnn_profile* profile);

// The steps so far, with those of the warm-up.
int64_t topdnn_profile_steps(const topdnn_profile* profile);

// The profile so far, in the JSON of `topdnn profile --json`, and as a table of `width` columns (0:
// as wide as its cells) in UTF-8. To be freed by topdnn_text_free. They fail without a whole step.
char* topdnn_profile_json(topdnn_profile* profile);
char* topdnn_profile_table(topdnn_profile* profile, int32_t width);
void topdnn_text_free(char* text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif  // TOPDNN_HARNESS_C_API_TOPDNN_HARNESS_H_
