/* libtopdnn_live.so: records what oneDNN executes in an unchanged program (records.h).
 *
 * `topdnn trace --live` loads it in two ways at once. LD_PRELOAD: its printf takes the lines of
 * oneDNN's log, and its constructor opens the counters before there are threads.
 * INTEL_LIBITTNOTIFY64: every copy of oneDNN calls __itt_api_init, and then announces the begin and
 * the end of each primitive. On the CPU a line is printed inside its task by the same thread, so
 * each task gets its own line. Nothing is parsed here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/live/collector_counters.h"
#include "bench/live/collector_imports.h"
#include "bench/live/collector_itt.h"
#include "bench/live/collector_operators.h"
#include "bench/live/records.h"

#define EXPORT __attribute__((visibility("default")))
#define MOST_DEPTH 8

struct Frame {
  const struct IttDomain* domain;
  const char* name;
  uint64_t begin, line, gap, begins;
  uint32_t text_bytes;
  uint16_t flags;
  struct Counts before, after;
};

struct Thread {
  unsigned generation; /* of the process: a forked child starts anew */
  int depth, skip_flush, unfinished;
  const struct IttDomain* known; /* the domain that was compared last, and whose it is */
  enum { OTHER, PRIMITIVES, PYTORCH } whose;
  struct LiveChunk* chunk;
  uint32_t module_bytes;
  char module[LIVE_MOST_NAME]; /* that runs in this thread, with --modules */
  struct Operators operators;
  struct Frame frames[MOST_DEPTH];
  struct LiveRecord record;
  char task_text[LIVE_MOST_TEXT];   /* the line of the task */
  char description[LIVE_MOST_TEXT]; /* of the innermost task, if it has no line */
  char other_text[LIVE_MOST_TEXT];
};

static __thread struct Thread* self_thread;
static pthread_key_t thread_key;
static unsigned generation = 1;
static struct LiveHead* head;

/* Of all threads of this process, under the lock. */
static pthread_mutex_t activity_lock = PTHREAD_MUTEX_INITIALIZER;
static int active;         /* threads in a task */
static uint64_t begins;    /* tasks so far */
static uint64_t idle_from; /* when the last task ended; 0: there was none */

static int (*real_fflush)(FILE*);
static void StartOnce(void);

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- threads and chunks ---- */

static struct LiveChunk* ChunkAt(unsigned i) {
  return (struct LiveChunk*)((char*)head + (size_t)(i + 1) * LIVE_CHUNK_BYTES);
}

/* Waits for a free chunk for a second, once: topdnn may be frozen or gone. */
static struct LiveChunk* TakeChunk(void) {
  static int gave_up;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    for (unsigned i = 0; i < LIVE_CHUNKS; ++i) {
      struct LiveChunk* chunk = ChunkAt(i);
      uint32_t expected = LIVE_FREE;
      if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) != LIVE_FREE) continue;
      if (!__atomic_compare_exchange_n(&chunk->state, &expected, LIVE_WRITING, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED)) {
        continue;
      }
      chunk->process = (uint32_t)getpid();
      chunk->thread = (uint32_t)syscall(SYS_gettid);
      __atomic_store_n(&chunk->order, __atomic_add_fetch(&head->chunks, 1, __ATOMIC_ACQ_REL),
                       __ATOMIC_RELEASE);
      return chunk;
    }
    if (gave_up) break;
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
  }
  gave_up = 1;
  return NULL;
}

static void FinishChunk(struct Thread* thread) {
  if (thread->chunk) __atomic_store_n(&thread->chunk->state, LIVE_DONE, __ATOMIC_RELEASE);
  thread->chunk = NULL;
}

static void LeaveTask(struct Thread* thread) {
  thread->depth = 0;
  pthread_mutex_lock(&activity_lock);
  --active;
  idle_from = Now();
  pthread_mutex_unlock(&activity_lock);
}

static void EndThread(void* value) {
  struct Thread* thread = value;
  self_thread = NULL;
  if (thread->generation == generation) {
    if (thread->depth > 0) LeaveTask(thread);
    FinishChunk(thread);
  }
  munmap(thread, sizeof *thread);
}

static struct Thread* Self(void) {
  struct Thread* thread = self_thread;
  if (thread && thread->generation == generation) return thread;
  if (!head) return NULL;
  if (!thread) {
    thread = mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thread == MAP_FAILED) return NULL;
    self_thread = thread;
    pthread_setspecific(thread_key, thread);
  }
  thread->generation = generation;
  thread->depth = 0;
  thread->operators.depth = thread->operators.outer = 0;
  thread->chunk = NULL; /* that of a forked child belongs to its parent */
  return thread;
}

/* Appends the thread's record with a text, the module and the operator. */
static void Append(struct Thread* thread, const char* text, uint32_t text_bytes) {
  struct LiveRecord* const record = &thread->record;
  record->text_bytes = text_bytes;
  record->module_bytes = thread->module_bytes;
  record->operator_bytes = thread->operators.outer ? thread->operators.name_bytes : 0;
  record->bytes =
      ((uint32_t)sizeof *record + text_bytes + record->module_bytes + record->operator_bytes + 7) &
      ~7u;
  const uint32_t room = LIVE_CHUNK_BYTES - (uint32_t)sizeof(struct LiveChunk);
  if (thread->chunk && room - thread->chunk->used < record->bytes) FinishChunk(thread);
  if (!thread->chunk) thread->chunk = TakeChunk();
  if (!thread->chunk) {
    __atomic_add_fetch(&head->lost, 1, __ATOMIC_RELAXED);
    return;
  }
  char* at = (char*)(thread->chunk + 1) + thread->chunk->used;
  memcpy(at, record, sizeof *record);
  memcpy(at += sizeof *record, text, text_bytes);
  memcpy(at += text_bytes, thread->module, record->module_bytes);
  memcpy(at + record->module_bytes, thread->operators.name, record->operator_bytes);
  __atomic_store_n(&thread->chunk->used, thread->chunk->used + record->bytes, __ATOMIC_RELEASE);
}

static void AppendText(struct Thread* thread, int kind, const char* text, uint32_t text_bytes) {
  memset(&thread->record, 0, sizeof thread->record);
  thread->record.kind = (uint16_t)kind;
  thread->record.line = Now();
  Append(thread, text, text_bytes);
}

/* ---- called from Python (python/sitecustomize.py) ---- */

/* The module that this thread runs from now on; an empty text: none. A name that is too long loses
 * its end. */
EXPORT void topdnn_live_module(const char* name) {
  struct Thread* thread = Self();
  if (!thread) return;
  thread->module_bytes = (uint32_t)strnlen(name, LIVE_MOST_NAME);
  memcpy(thread->module, name, thread->module_bytes);
}

EXPORT void topdnn_live_note(const char* text) {
  struct Thread* thread = Self();
  if (thread) AppendText(thread, LIVE_NOTE, text, (uint32_t)strnlen(text, LIVE_MOST_TEXT));
}

static void OnRangeBegin(const char* name) {
  struct Thread* thread = Self();
  if (thread && BeginRange(&thread->operators, name)) thread->operators.begin = Now();
}

static void OnRangeEnd(void) {
  struct Thread* thread = Self();
  if (!thread) return;
  if (!EndRange(&thread->operators)) return;
  memset(&thread->record, 0, sizeof thread->record);
  thread->record.kind = LIVE_OPERATOR;
  thread->record.begin = thread->operators.begin;
  thread->record.end = Now();
  Append(thread, "", 0);
  thread->operators.outer = 0;
}

EXPORT int topdnn_live_operators(void) { return TakeRangesOfPyTorch(OnRangeBegin, OnRangeEnd); }

/* ---- the calls of ITT ---- */

/* oneDNN 3.12 also announces creations, in another domain. */
static int WhoseDomain(struct Thread* thread, const struct IttDomain* domain) {
  if (domain != thread->known) {
    const char* const name = domain && domain->name ? domain->name : "";
    thread->known = domain;
    thread->whose = strcmp(name, "dnnl::primitive::execute") == 0 ? PRIMITIVES
                    : strcmp(name, "PyTorch") == 0                ? PYTORCH
                                                                  : OTHER;
  }
  return thread->whose;
}

static void OnBegin(const struct IttDomain* domain, struct IttId id, struct IttId parent,
                    const struct IttHandle* name) {
  struct Thread* thread = Self();
  (void)id, (void)parent;
  if (!thread) return;
  const int whose = WhoseDomain(thread, domain);
  if (whose == PYTORCH) OnRangeBegin(name ? name->name : NULL); /* of a build with ITT */
  if (whose != PRIMITIVES) return;
  /* (TBB's waiting threads may leave tasks without an end) */
  if (thread->depth == MOST_DEPTH) LeaveTask(thread);
  /* (the description will be that of the inner task) */
  if (thread->depth > 0) thread->frames[thread->depth - 1].text_bytes = 0;
  struct Frame* frame = &thread->frames[thread->depth];
  memset(frame, 0, offsetof(struct Frame, before));
  frame->domain = domain;
  frame->name = name && name->name ? name->name : "";
  if (thread->depth == 0) {
    const uint64_t now = Now();
    pthread_mutex_lock(&activity_lock);
    if (active > 0) frame->flags = LIVE_OVERLAPPED;
    if (active == 0 && idle_from != 0 && now > idle_from) frame->gap = now - idle_from;
    ++active;
    frame->begins = ++begins;
    pthread_mutex_unlock(&activity_lock);
  }
  ++thread->depth;
  thread->skip_flush = 0;
  ReadCounts(&frame->before);
  frame->begin = Now();
}

/* oneDNN 3.12 describes the task that it has begun: its line without the first fields and the time.
 * The line, if there is one, replaces this. */
static void OnMetadata(const struct IttDomain* domain, const struct IttHandle* format, ...) {
  struct Thread* thread = Self();
  if (!thread || thread->depth == 0) return;
  struct Frame* frame = &thread->frames[thread->depth - 1];
  if (frame->domain != domain || (frame->flags & LIVE_HAS_LINE) || !format || !format->name) return;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(thread->description, LIVE_MOST_TEXT, format->name, arguments);
  va_end(arguments);
  if (length > 0 && length < (int)LIVE_MOST_TEXT) frame->text_bytes = (uint32_t)length;
}

static void OnEnd(const struct IttDomain* domain) {
  const uint64_t end = Now();
  struct Thread* thread = Self();
  if (!thread) return;
  const int whose = WhoseDomain(thread, domain);
  if (whose == PYTORCH) OnRangeEnd();
  if (whose != PRIMITIVES) return;
  /* oneDNN 3.6 and later end tasks of some kinds that they did not begin. */
  if (thread->depth == 0 || thread->frames[thread->depth - 1].domain != domain) return;
  struct Frame* frame = &thread->frames[--thread->depth];
  if (!(frame->flags & LIVE_HAS_LINE)) ReadCounts(&frame->after);
  if (thread->depth == 0) {
    pthread_mutex_lock(&activity_lock);
    if (begins != frame->begins) frame->flags |= LIVE_OVERLAPPED;
    --active;
    idle_from = Now();
    pthread_mutex_unlock(&activity_lock);
  }
  struct LiveRecord* record = &thread->record;
  record->kind = LIVE_TASK;
  record->flags =
      (uint16_t)(frame->flags | CountsBetween(&frame->before, &frame->after, record->counts));
  record->begin = frame->begin;
  record->line = frame->line;
  record->end = end;
  record->gap = frame->gap;
  strncpy(record->name, frame->name, sizeof record->name - 1);
  const int has_line = frame->flags & LIVE_HAS_LINE;
  Append(thread, has_line ? thread->task_text : thread->description, frame->text_bytes);
}

/* ---- oneDNN's log ---- */

static int IsLine(const char* text) {
  return text &&
         (strncmp(text, "onednn_verbose", 14) == 0 || strncmp(text, "dnnl_verbose", 12) == 0);
}

static int HasEarly(const char* text, const char* word) {
  const char* at = strstr(text, word);
  return at && at - text < 64;
}

/* Takes a line of oneDNN. Returns the length, or -1 for a text that is not oneDNN's. A header is
 * printed by two calls: the first text has no newline. */
static int TakeLine(const char* format, va_list arguments) {
  struct Thread* thread = self_thread;
  va_list copy;
  if (!(thread && thread->unfinished) && !IsLine(format)) {
    if (!format || strcmp(format, "%s") != 0) return -1;
    va_copy(copy, arguments);
    const char* text = va_arg(copy, const char*);
    va_end(copy);
    if (!IsLine(text)) return -1;
  }
  const uint64_t now = Now();
  StartOnce();
  if (!(thread = Self())) return -1;
  struct Frame* frame = thread->depth > 0 ? &thread->frames[thread->depth - 1] : NULL;
  if (frame && (frame->flags & LIVE_HAS_LINE)) frame = NULL; /* (another line in this task) */
  struct Counts counts;
  if (frame) ReadCounts(&counts);
  char* text = frame ? thread->task_text : thread->other_text;
  va_copy(copy, arguments);
  const int length = vsnprintf(text, LIVE_MOST_TEXT, format, copy);
  va_end(copy);
  if (length <= 0) return -1;
  const uint32_t bytes = length < (int)LIVE_MOST_TEXT ? (uint32_t)length : LIVE_MOST_TEXT - 1;
  thread->unfinished = text[bytes - 1] != '\n' && length < (int)LIVE_MOST_TEXT;
  const int executed = HasEarly(text, ",exec,");
  if (frame && executed) {
    frame->flags |= LIVE_HAS_LINE;
    frame->line = now;
    frame->text_bytes = bytes;
    frame->after = counts;
  } else {
    AppendText(thread, LIVE_LINE, text, bytes);
  }
  if (head->pass_on) return -1;
  thread->skip_flush = executed || HasEarly(text, ",create");
  return length;
}

/* oneDNN flushes after each line. The program's own text is flushed when the program does it. */
static int FlushUnlessTaken(FILE* file) {
  struct Thread* thread = self_thread;
  if (thread && thread->skip_flush && file == stdout) {
    thread->skip_flush = 0;
    return 0;
  }
  StartOnce();
  return real_fflush(file);
}

static int PrintUnlessTaken(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = TakeLine(format, arguments);
  if (length < 0) length = vprintf(format, arguments);
  va_end(arguments);
  return length;
}

extern int __vprintf_chk(int flag, const char* format, va_list arguments);

static int PrintCheckedUnlessTaken(int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = TakeLine(format, arguments);
  if (length < 0) length = __vprintf_chk(flag, format, arguments);
  va_end(arguments);
  return length;
}

EXPORT int printf(const char*, ...) __attribute__((alias("PrintUnlessTaken")));
EXPORT int __printf_chk(int, const char*, ...) __attribute__((alias("PrintCheckedUnlessTaken")));
EXPORT int fflush(FILE*) __attribute__((alias("FlushUnlessTaken")));

/* ---- start ---- */

/* The child has one thread, which begins anew; the lock may have been another thread's. */
static void InForkedChild(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  activity_lock = fresh;
  RenewNamesLock();
  active = 0;
  begins = idle_from = 0;
  ++generation;
  if (head) OpenCounters(head);
}

static void MapRecords(void) {
  const char* path = getenv(LIVE_PATH_VARIABLE);
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) {
    /* Another user, a container: the lines, which nobody would take, are not printed. */
    if (path && !getenv(LIVE_PASS_ON_VARIABLE)) {
      unsetenv("ONEDNN_VERBOSE");
      unsetenv("DNNL_VERBOSE");
    }
    return;
  }
  void* memory = mmap(NULL, (size_t)(LIVE_CHUNKS + 1) * LIVE_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  head = memory;
  if (head->version != LIVE_VERSION) head = NULL;
}

static void Start(void) {
  real_fflush = (int (*)(FILE*))dlsym(RTLD_NEXT, "fflush");
  MapRecords();
  if (!head || pthread_key_create(&thread_key, EndThread) != 0) {
    head = NULL;
    return;
  }
  OpenCounters(head);
  pthread_atfork(NULL, NULL, InForkedChild);
}

/* Constructors of other libraries may call printf or execute primitives before this one runs. */
__attribute__((constructor)) static void StartOnce(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, Start);
}

/* Called by each copy of ITT's code in the program, with the functions that it can call. */
EXPORT void __itt_api_init(struct IttGlobal* global, int groups) {
  static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
  static const struct {
    const char* name;
    void* function;
  } own[] = {{"__itt_task_begin", (void*)OnBegin},
             {"__itt_task_end", (void*)OnEnd},
             {"__itt_formatted_metadata_add", (void*)OnMetadata},
             {"__itt_domain_create", (void*)MakeDomain},
             {"__itt_string_handle_create", (void*)MakeHandle}};
  (void)groups;
  if (!global || memcmp(global->magic, magic, sizeof magic) != 0 || global->major != 3) return;
  StartOnce();
  Dl_info info = {0};
  dladdr(global, &info);
  const char* path = info.dli_fname ? info.dli_fname : "";
  const char* slash = strrchr(path, '/');
  /* TBB announces its own tasks and locks, which are very many. */
  const int wanted = head && strncmp(slash ? slash + 1 : path, "libtbb", 6) != 0;
  for (struct IttFunction* f = global->functions; f->name; ++f) {
    *f->slot = f->null;
    for (unsigned i = 0; wanted && i < sizeof own / sizeof *own; ++i) {
      if (strcmp(f->name, own[i].name) == 0) *f->slot = own[i].function;
    }
  }
  static const struct Import imports[] = {{"printf", (void*)PrintUnlessTaken},
                                          {"__printf_chk", (void*)PrintCheckedUnlessTaken},
                                          {"fflush", (void*)FlushUnlessTaken}};
  if (wanted) ReplaceImports(global, imports, sizeof imports / sizeof *imports);
  struct Thread* thread = wanted ? Self() : NULL;
  if (!thread) return;
  const int length = snprintf(thread->other_text, LIVE_MOST_TEXT, "%s (ITT %lu.%lu.%lu)", path,
                              global->major, global->minor, global->build);
  if (length > 0 && length < (int)LIVE_MOST_TEXT) {
    AppendText(thread, LIVE_LIBRARY, thread->other_text, (uint32_t)length);
  }
}

EXPORT void __itt_api_fini(struct IttGlobal* global) { (void)global; }
