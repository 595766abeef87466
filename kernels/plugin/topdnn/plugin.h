// The interface between topdnn and a plug-in: a shared library with kernels of its own, in plain C.
//
// A plug-in exports one function, `topdnn_plugin`, which returns a table of its functions. topdnn
// asks `create` for a kernel of each computation. Each kernel is first run in a separate process,
// on memory with guard pages, and compared with the reference. docs/plugins.md has an example.

#ifndef TOPDNN_KERNELS_PLUGIN_TOPDNN_PLUGIN_H_
#define TOPDNN_KERNELS_PLUGIN_TOPDNN_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. With the same number, a later topdnn may append members to
// topdnn_request and topdnn_kernel, whose size it gives.
#define TOPDNN_PLUGIN_ABI 1

enum topdnn_direction { TOPDNN_READ = 0, TOPDNN_WRITE = 1, TOPDNN_READ_WRITE = 2 };

// One tensor of a computation.
typedef struct topdnn_operand {
  // "src", "weights", "bias", "dst", "diff_src", "diff_weights", "diff_bias", "diff_dst",
  // "workspace", "mean", ...; "src_0", "src_1" if there are several.
  const char* role;
  int32_t direction;  // topdnn_direction
  const char* type;   // "f32", "bf16", "f16", "f64", "s32", "s64", "s8", "u8"
  int32_t rank;
  const int64_t* extents;  // logical, outermost first: (N, C, H, W) of an image
  // oneDNN's tag: "abcd" is row-major (NCHW), "acdb" is NHWC, "aBcd16b" is nChw16c. In `create`,
  // the layout that topdnn wants, or NULL if the plug-in may choose. The plug-in writes the layout
  // that the kernel uses: a static string. NULL means row-major. If topdnn needs another one, it
  // drops the kernel. The padding of a layout with blocks, whose extents are rounded up to whole
  // blocks, is zero in every input, and must be zero in every result.
  const char* layout;
  // NULL in `create`. In `prepare`, the elements between neighbours of each dimension, or NULL if
  // the layout has blocks.
  const int64_t* strides;
  // NULL in `create`. In `prepare`, the memory, aligned to the size of its elements. The 64 bytes
  // after its end may be read, but not written.
  void* data;
} topdnn_operand;

// A number of a problem: {"stride_h", 2}.
typedef struct topdnn_number {
  const char* name;
  double value;
} topdnn_number;

// A computation for which topdnn wants a kernel. It is valid until `create` returns.
typedef struct topdnn_request {
  uint32_t size;          // sizeof(topdnn_request) in topdnn
  const char* operation;  // "conv", "pool", "inner_product", "gemm", "relu", ...
  const char* pass;       // "forward", "backward_data", "backward_weights"
  const char* type;       // of the computation: "f32", "bf16", ...
  const char* problem;    // in topdnn's spelling: "n8c64h56w56k64r3s3u1v1p1q1"
  const char* algorithm;  // of "pool": "max", "average", "average_of_padding"; otherwise ""
  int32_t training;       // 1: in a training step; 0: inference, the weights rarely change
  int32_t threads;        // that the kernel may use; the OpenMP width of the thread that runs it
  uint32_t number_count;
  const topdnn_number* numbers;
  uint32_t operand_count;
  topdnn_operand* operands;  // of which the plug-in may set `layout`
} topdnn_request;

// What `create` fills; all members are 0 before.
typedef struct topdnn_kernel {
  uint32_t size;               // sizeof(topdnn_kernel) in topdnn
  void* state;                 // the plug-in's own
  const char* implementation;  // the name in the reports; NULL: the plug-in's name
  const char* isa;             // the widest instructions: "avx2", "avx512"; NULL: unknown
} topdnn_kernel;

// The functions of a plug-in. A function that returns text returns NULL for success, otherwise the
// reason in one line, which must remain valid until the next call of the plug-in.
typedef struct topdnn_plugin_table {
  uint32_t abi;         // TOPDNN_PLUGIN_ABI
  uint32_t size;        // sizeof(topdnn_plugin_table) in the plug-in
  const char* name;     // of the backend: lower-case letters, digits and dashes
  const char* version;  // for the reports, or NULL
  // The operations that `create` is asked for; the last element is NULL.
  const char* const* operations;
  // Makes a kernel, or returns why there is none (a refusal). Cheap: topdnn may drop the kernel.
  const char* (*create)(topdnn_request* request, topdnn_kernel* kernel);
  // Binds the kernel to the operands, in the request's order, and does slow work that needs no
  // values. The array is valid during the call, the memory until `destroy`. May be called again
  // with other memory.
  const char* (*prepare)(void* state, const topdnn_operand* operands, uint32_t operand_count);
  // Optional, may be NULL. The weights and the bias have their values: a kernel can pack them here.
  // In inference it is called before the first `run`, and before the next one after the values
  // changed. In training it is called before every `run`, and its time counts.
  const char* (*load)(void* state);
  // Computes. Returns 0, or the plug-in's own number of an error.
  int32_t (*run)(void* state);
  void (*destroy)(void* state);
} topdnn_plugin_table;

// The function that a plug-in defines. The table must remain valid.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
const topdnn_plugin_table* topdnn_plugin(void);
#ifdef __GNUC__
#pragma GCC visibility pop
#endif

// NOLINTBEGIN(modernize-use-nullptr): C has none.

// A number of the request, or 0 if there is none with this name.
static inline double topdnn_number_of(const topdnn_request* request, const char* name) {
  for (uint32_t i = 0; i < request->number_count; ++i) {
    if (strcmp(request->numbers[i].name, name) == 0) return request->numbers[i].value;
  }
  return 0;
}

// An operand, or NULL if there is none in this role.
static inline topdnn_operand* topdnn_operand_of(const topdnn_request* request, const char* role) {
  for (uint32_t i = 0; i < request->operand_count; ++i) {
    if (strcmp(request->operands[i].role, role) == 0) return &request->operands[i];
  }
  return NULL;
}

// Sets the layout of an operand, if it exists.
static inline void topdnn_use_layout(const topdnn_request* request, const char* role,
                                     const char* layout) {
  topdnn_operand* operand = topdnn_operand_of(request, role);
  if (operand != NULL) operand->layout = layout;
}

// Sets the layout of every operand to row-major.
static inline void topdnn_use_row_major(const topdnn_request* request) {
  for (uint32_t i = 0; i < request->operand_count; ++i) request->operands[i].layout = NULL;
}

// NOLINTEND(modernize-use-nullptr)

#ifdef __cplusplus
}
#endif

#endif  // TOPDNN_KERNELS_PLUGIN_TOPDNN_PLUGIN_H_
