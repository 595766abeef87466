// A plug-in for topdnn: the forward pass of a convolution, row by row in plain C. docs/plugins.md
// explains it.

#include <stdlib.h>
#include <string.h>
#include <topdnn/plugin.h>

enum { N, C, H, W, K, R, S, OH, OW, STRIDE_H, STRIDE_W, PAD_TOP, PAD_LEFT, NUMBERS };
static const char* const kNames[NUMBERS] = {
    "n", "c", "h", "w", "k", "r", "s", "oh", "ow", "stride_h", "stride_w", "pad_top", "pad_left"};

typedef struct {
  int64_t of[NUMBERS];
  const float *src, *weights, *bias;  // (N, C, H, W), (K, C, R, S), (K) or NULL
  float* dst;                         // (N, K, OH, OW)
} Conv;

static const char* Create(topdnn_request* request, topdnn_kernel* kernel) {
  if (strcmp(request->pass, "forward") != 0) return "it computes the forward pass only";
  if (strcmp(request->type, "f32") != 0) return "it computes in f32 only";
  if (topdnn_number_of(request, "groups") != 1) return "it has no groups";
  if (topdnn_number_of(request, "dilation_h") * topdnn_number_of(request, "dilation_w") != 1)
    return "it has no dilation";
  if (topdnn_number_of(request, "relu") + topdnn_number_of(request, "sum") != 0)
    return "it fuses nothing";
  topdnn_use_row_major(request);
  Conv* conv = calloc(1, sizeof *conv);
  if (conv == NULL) return "it has no memory";
  for (int i = 0; i < NUMBERS; ++i) conv->of[i] = (int64_t)topdnn_number_of(request, kNames[i]);
  kernel->state = conv;
  kernel->implementation = "rows";
  return NULL;
}

static const char* Prepare(void* state, const topdnn_operand* operands, uint32_t count) {
  Conv* conv = state;
  for (const topdnn_operand* operand = operands; operand < operands + count; ++operand) {
    if (strcmp(operand->role, "src") == 0) conv->src = operand->data;
    if (strcmp(operand->role, "weights") == 0) conv->weights = operand->data;
    if (strcmp(operand->role, "bias") == 0) conv->bias = operand->data;
    if (strcmp(operand->role, "dst") == 0) conv->dst = operand->data;
  }
  return NULL;
}

static int32_t Run(void* state) {
  const Conv* conv = state;
  const int64_t* of = conv->of;
#pragma omp parallel for
  for (int64_t row = 0; row < of[N] * of[K] * of[OH]; ++row) {  // of dst
    const int64_t n = row / of[OH] / of[K], k = row / of[OH] % of[K], y = row % of[OH];
    float* dst = conv->dst + row * of[OW];
    for (int64_t x = 0; x < of[OW]; ++x) dst[x] = conv->bias ? conv->bias[k] : 0;
    for (int64_t tap = 0; tap < of[C] * of[R] * of[S]; ++tap) {  // (C, R, S)
      const int64_t c = tap / of[S] / of[R],
                    h = y * of[STRIDE_H] - of[PAD_TOP] + tap / of[S] % of[R];
      if (h < 0 || h >= of[H]) continue;
      const float* src = conv->src + ((n * of[C] + c) * of[H] + h) * of[W];
      const float weight = conv->weights[k * of[C] * of[R] * of[S] + tap];
      for (int64_t x = 0; x < of[OW]; ++x) {
        const int64_t w = x * of[STRIDE_W] - of[PAD_LEFT] + tap % of[S];
        if (w >= 0 && w < of[W]) dst[x] += weight * src[w];
      }
    }
  }
  return 0;
}

const topdnn_plugin_table* topdnn_plugin(void) {
  static const char* const operations[] = {"conv", NULL};
  static const topdnn_plugin_table table = {
      TOPDNN_PLUGIN_ABI, sizeof table, "mine", "1.0", operations, Create, Prepare, NULL, Run, free};
  return &table;
}
