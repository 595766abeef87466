// A plug-in for topdnn: the forward pass of a convolution, row by row in plain C. docs/plugins.md
// explains it.
//
//   cc -O3 -march=native -shared -fPIC -I kernels/plugin examples/conv.c -o libmine.so
//   topdnn profile lenet5 --infer --plugin ./libmine.so --backend mine --fallback onednn

#include <stdlib.h>
#include <string.h>
#include <topdnn/plugin.h>

typedef struct {
  int64_t n, c, h, w, k, r, s, oh, ow, stride_h, stride_w, pad_top, pad_left;
  const float *src, *weights, *bias;  // (N, C, H, W), (K, C, R, S), (K)
  float* dst;                         // (N, K, OH, OW)
} Conv;

static const char* Create(topdnn_request* request, topdnn_kernel* kernel) {
  if (strcmp(request->pass, "forward") != 0) return "it computes the forward pass only";
  if (strcmp(request->type, "f32") != 0) return "it computes in f32 only";
  if (topdnn_number_of(request, "groups") != 1) return "it has no groups";
  if (topdnn_number_of(request, "dilation_h") != 1 || topdnn_number_of(request, "dilation_w") != 1)
    return "it has no dilation";
  if (topdnn_number_of(request, "relu") != 0 || topdnn_number_of(request, "sum") != 0)
    return "it fuses nothing";
  topdnn_use_row_major(request);
  Conv* conv = calloc(1, sizeof *conv);
  if (conv == NULL) return "it has no memory";
  static const char* const names[] = {"n",  "c",  "h",        "w",        "k",       "r",       "s",
                                      "oh", "ow", "stride_h", "stride_w", "pad_top", "pad_left"};
  int64_t* numbers = &conv->n;
  for (int i = 0; i < 13; ++i) numbers[i] = (int64_t)topdnn_number_of(request, names[i]);
  kernel->state = conv;
  kernel->implementation = "rows";
  return NULL;
}

static const char* Prepare(void* state, const topdnn_operand* operands, uint32_t count) {
  Conv* conv = state;
  for (uint32_t i = 0; i < count; ++i) {
    if (strcmp(operands[i].role, "src") == 0) conv->src = operands[i].data;
    if (strcmp(operands[i].role, "weights") == 0) conv->weights = operands[i].data;
    if (strcmp(operands[i].role, "bias") == 0) conv->bias = operands[i].data;
    if (strcmp(operands[i].role, "dst") == 0) conv->dst = operands[i].data;
  }
  return NULL;
}

// Adds a row of src, times one weight, to a row of dst.
static void AddRow(const Conv* v, const float* src, float weight, int64_t left, float* dst) {
  for (int64_t x = 0; x < v->ow; ++x) {
    int64_t at = x * v->stride_w + left;
    if (at >= 0 && at < v->w) dst[x] += weight * src[at];
  }
}

static int32_t Run(void* state) {
  const Conv* v = state;
#pragma omp parallel for collapse(2)
  for (int64_t n = 0; n < v->n; ++n) {
    for (int64_t k = 0; k < v->k; ++k) {
      float* plane = v->dst + (n * v->k + k) * v->oh * v->ow;
      for (int64_t i = 0; i < v->oh * v->ow; ++i) plane[i] = v->bias ? v->bias[k] : 0;
      for (int64_t i = 0; i < v->c * v->r * v->s * v->oh; ++i) {
        int64_t y = i % v->oh, s = i / v->oh % v->s, r = i / v->oh / v->s % v->r;
        int64_t c = i / v->oh / v->s / v->r, h = y * v->stride_h - v->pad_top + r;
        if (h < 0 || h >= v->h) continue;
        AddRow(v, v->src + ((n * v->c + c) * v->h + h) * v->w,
               v->weights[((k * v->c + c) * v->r + r) * v->s + s], s - v->pad_left,
               plane + y * v->ow);
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
