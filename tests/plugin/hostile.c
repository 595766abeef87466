// A plug-in with faults. Its kernels copy src to dst, or diff_dst to diff_src, row-major, and have
// the fault that faults.h gives for the width of the image. A copy is a flattening, and a pooling
// with windows of one element; it is a wrong result of any other pooling. It takes the logarithm of
// sums of one element. While it loads, it has the fault that the environment variable HOSTILE
// names.

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <topdnn/plugin.h>
#include <unistd.h>

#include "tests/plugin/faults.h"

#ifdef TOPDNN_TEST_UNRESOLVED
int a_function_of_no_library(void);
#endif

typedef struct {
  const char* fault;
  int64_t elements;  // of the result
  float *from, *to;
  int runs;   // since the last Prepare
  int calls;  // of Run
} Copy;

static int Has(const Copy* copy, const char* fault) { return strcmp(copy->fault, fault) == 0; }

static void Hang(void) {
  for (;;) pause();
}

// The check calls a kernel four times. (The loop is never interrupted by a system call.)
static void HangLater(const Copy* copy) {
  if (copy->calls > 9) {
    for (volatile int forever = 1; forever;) continue;
  }
}

static float Read(const float* from) { return *(const volatile float*)from; }

static const char* Create(topdnn_request* request, topdnn_kernel* kernel) {
  static Copy copies[1000];
  static int count;
  Copy* copy = &copies[count++];
  const int forward = strcmp(request->pass, "forward") == 0;
  const topdnn_operand* src = topdnn_operand_of(request, forward ? "src" : "diff_src");
  const topdnn_operand* result = topdnn_operand_of(request, forward ? "dst" : "diff_src");
  if (strcmp(request->type, "f32") != 0) return "it copies f32 only";
  const int64_t width = src->extents[src->rank - 1];
  copy->fault = width <= kKernelFaultCount ? kKernelFaults[width - 1] : "none";
  if (Has(copy, "refuse")) return "it computes nothing at all";
  if (Has(copy, "crash in create")) raise(SIGSEGV);
  if (Has(copy, "hang in create")) Hang();
  topdnn_use_row_major(request);
  if (Has(copy, "name no layout")) topdnn_use_layout(request, "dst", "what");
  if (Has(copy, "name the layout of a matrix")) topdnn_use_layout(request, "src", "ab");
  copy->elements = 1;
  for (int32_t d = 0; d < result->rank; ++d) copy->elements *= result->extents[d];
  if (Has(copy, "copy in blocks") || Has(copy, "write into the padding")) {
    topdnn_use_layout(request, "src", "aBcd16b");
    topdnn_use_layout(request, "dst", "aBcd16b");
    copy->elements = copy->elements / result->extents[1] * 16;
  }
  kernel->state = copy;
  kernel->implementation = Has(copy, "give a name that is no text") ? "co\npy\xff" : "copy";
#ifdef TOPDNN_TEST_UNRESOLVED
  copy->elements += a_function_of_no_library();
#endif
  return NULL;
}

static const char* Prepare(void* state, const topdnn_operand* operands, uint32_t count) {
  Copy* copy = state;
  if (Has(copy, "fail in prepare")) return "it has run out of something";
  copy->runs = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const char* role = operands[i].role;
    if (strcmp(role, "src") == 0 || strcmp(role, "diff_dst") == 0) copy->from = operands[i].data;
    if (strcmp(role, "dst") == 0 || strcmp(role, "diff_src") == 0) copy->to = operands[i].data;
  }
  return NULL;
}

static const char* Load(void* state) {
  if (Has(state, "crash in load")) raise(SIGSEGV);
  return Has(state, "fail in load") ? "it cannot pack" : NULL;
}

static int32_t Run(void* state) {
  Copy* copy = state;
  if (Has(copy, "crash")) *(volatile int*)8 = 1;
  if (Has(copy, "abort")) abort();
  if (Has(copy, "exit")) exit(3);
  if (Has(copy, "be killed")) kill(getpid(), SIGKILL);
  if (Has(copy, "hang")) Hang();
  if (Has(copy, "return an error")) return 7;
  if (Has(copy, "write nothing")) return 0;
  ++copy->calls;
  if (Has(copy, "hang later")) HangLater(copy);
  if (Has(copy, "crash later") && copy->calls > 9) *(volatile int*)8 = 1;
  if (Has(copy, "read far behind")) Read(copy->from + copy->elements + 100000);
  if (Has(copy, "read far in front")) Read(copy->from - 100000);
  for (int64_t i = 0; i < copy->elements; ++i) copy->to[i] = copy->from[i];
  for (int64_t i = 0; Has(copy, "take logarithms") && i < copy->elements; ++i) {
    copy->to[i] = logf(copy->from[i]);
  }
  if (Has(copy, "write into the padding")) copy->to[15] = 1;
  if (Has(copy, "write far behind")) copy->to[copy->elements + 1024] = 1;
  if (Has(copy, "write just behind")) copy->to[copy->elements] = 1;
  if (Has(copy, "write in front")) copy->to[-1] = 1;
  if (Has(copy, "write its input")) copy->from[0] = 1;
  if (Has(copy, "return garbage")) copy->to[copy->elements / 2] += 1;
  if (Has(copy, "be wrong the second time") && copy->runs == 1) copy->to[0] += 1;
  ++copy->runs;
  return 0;
}

static void Destroy(void* state) {
  if (Has(state, "crash in destroy")) raise(SIGSEGV);
}

#ifdef TOPDNN_TEST_NO_FUNCTION
// (so that they are used)
void* topdnn_test_functions[] = {(void*)Create, (void*)Prepare, (void*)Load, (void*)Run,
                                 (void*)Destroy};
#else
static int Loads(const char* fault) {
  const char* wanted = getenv("HOSTILE");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

const topdnn_plugin_table* topdnn_plugin(void) {
  static const char* const operations[] = {"flatten", "pool", "reduce", NULL};
  static topdnn_plugin_table table = {TOPDNN_PLUGIN_ABI,
                                      sizeof(topdnn_plugin_table),
                                      "hostile",
                                      "1",
                                      operations,
                                      Create,
                                      Prepare,
                                      Load,
                                      Run,
                                      Destroy};
  if (Loads("have another abi")) table.abi = TOPDNN_PLUGIN_ABI + 1;
  if (Loads("have a short table")) table.size = 8;
  if (Loads("take a name")) table.name = "onednn";
  if (Loads("have no name")) table.name = "Not A Name";
  if (Loads("have no run")) table.run = NULL;
  if (Loads("crash")) raise(SIGSEGV);
  if (Loads("hang")) Hang();
  return Loads("have no table") ? NULL : &table;
}
#endif
