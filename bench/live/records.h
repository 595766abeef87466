// What libtopdnn_live.so (collector.c) writes into memory that it shares with topdnn, and topdnn
// reads while the program runs.
//
// The memory has a head and chunks of equal size. A thread of the program owns a chunk, appends
// records, and takes another one when it is full; topdnn frees a full chunk once it has read it. So
// the memory is bounded, and what was recorded outlives the program. `used`, `state` and `lost` are
// accessed atomically. The header is C, because the library must not need a C++ runtime.

#ifndef TOPDNN_BENCH_LIVE_RECORDS_H_
#define TOPDNN_BENCH_LIVE_RECORDS_H_

#include <stdint.h>

#define LIVE_VERSION 3u
#define LIVE_CHUNK_BYTES (64u << 10)
#define LIVE_CHUNKS 1024u
#define LIVE_MOST_TEXT (16u << 10)
#define LIVE_MOST_EVENTS 11
#define LIVE_MOST_NAME 256u

/* The environment variables: the path of the memory, and that the user asked for oneDNN's log. */
#define LIVE_PATH_VARIABLE "TOPDNN_LIVE"
#define LIVE_PASS_ON_VARIABLE "TOPDNN_LIVE_PASS_ON"
/* For python/sitecustomize.py: "modules", "operators" or both, as one text. */
#define LIVE_NAMES_VARIABLE "TOPDNN_LIVE_NAMES"

/* The places of LiveRecord.counts. The events of the hardware follow. */
enum {
  LIVE_TASK_CLOCK, /* ns */
  LIVE_FAULTS,
  LIVE_SWITCHES,
  LIVE_ENABLED, /* ns that the hardware's group was enabled, and was on the counters */
  LIVE_RUNNING,
  LIVE_EVENTS,
  LIVE_COUNTS = LIVE_EVENTS + LIVE_MOST_EVENTS
};

/* An event of the hardware that topdnn asks for, as perf_event_open(2) takes it. */
struct LiveEvent {
  uint32_t type;
  uint32_t exclude_kernel;
  uint64_t config;
};

struct LiveHead {
  uint32_t version;
  uint32_t events;   /* number of `event` */
  uint32_t pass_on;  /* the user asked for oneDNN's log: its lines are printed as well */
  uint32_t reserved; /* 0 */
  uint64_t lost;     /* records for which there was no chunk */
  uint64_t chunks;   /* taken so far: the order of the chunks */
  struct LiveEvent event[LIVE_MOST_EVENTS];
};

enum { LIVE_FREE, LIVE_WRITING, LIVE_DONE };

/* The first bytes of a chunk. */
struct LiveChunk {
  uint32_t state;
  uint32_t used;    /* bytes of records behind this */
  uint32_t process; /* of the thread that writes */
  uint32_t thread;
  uint64_t order;
};

/* The text of an operator's record is empty; that of a note is for the user. */
enum { LIVE_TASK = 1, LIVE_LINE, LIVE_LIBRARY, LIVE_OPERATOR, LIVE_NOTE };

enum {
  LIVE_HAS_LINE = 1,   /* the text is the line of the task's execution */
  LIVE_OVERLAPPED = 2, /* another thread of the process was in a task at the same time */
  LIVE_HARDWARE = 4    /* counts of the hardware are there */
};

/* The text follows, and after it the module and the operator of the framework. Without a line, a
 * task's text is what oneDNN says of it by ITT's metadata, or empty. A task covers begin to end;
 * oneDNN prints its line, with the time that it measured, shortly before the end. Counts are those
 * from begin to the line, or to the end. */
struct LiveRecord {
  uint32_t bytes; /* with the texts, a multiple of 8 */
  uint16_t kind;
  uint16_t flags;
  uint32_t text_bytes;
  uint32_t module_bytes;
  uint32_t operator_bytes;
  uint32_t reserved; /* 0 */
  uint64_t begin;    /* ns of CLOCK_MONOTONIC */
  uint64_t line;     /* 0: no line */
  uint64_t end;
  uint64_t gap; /* ns before `begin` in which no thread of the process was in a task */
  uint64_t counts[LIVE_COUNTS];
  char name[32]; /* of the task: "convolution" */
};

#endif  // TOPDNN_BENCH_LIVE_RECORDS_H_
