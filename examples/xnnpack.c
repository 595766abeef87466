// A plug-in for topdnn: Google's XNNPACK (Debian's libxnnpack-dev, of February 2022) as the backend
// `xnnpack`. Convolution, pooling and fully connected layers, forward in f32, in NHWC.

#include <math.h>
#include <pthreadpool.h>
#include <stdlib.h>
#include <string.h>
#include <topdnn/plugin.h>
#include <xnnpack.h>

typedef struct Layer Layer;
struct Layer {
  // Makes the operator from the weights' values, and binds it to src and dst.
  enum xnn_status (*make)(Layer* layer);
  pthreadpool_t pool;  // NULL: one thread
  xnn_operator_t operator;
  size_t n, c, h, w, k, inputs;
  uint32_t r, s, oh, ow, stride_h, stride_w, dilation_h, dilation_w, groups;
  uint32_t top, right, bottom, left;  // padding
  int is_max;
  float least, most;  // bounds of the result: a fused ReLU
  const float *src, *weights, *bias;
  float* dst;
};

static enum xnn_status MakeConv(Layer* v) {
  // Weights (K, R, S, C/groups), which XNNPACK packs.
  const enum xnn_status made = xnn_create_convolution2d_nhwc_f32(
      v->top, v->right, v->bottom, v->left, v->r, v->s, v->stride_h, v->stride_w, v->dilation_h,
      v->dilation_w, v->groups, v->c / v->groups, v->k / v->groups, v->c, v->k, v->weights, v->bias,
      v->least, v->most, 0, &v->operator);
  if (made != xnn_status_success) return made;
  return xnn_setup_convolution2d_nhwc_f32(v->operator, v->n, v->h, v->w, v->src, v->dst, v->pool);
}

static enum xnn_status MakePool(Layer* v) {
  const enum xnn_status made =
      v->is_max ? xnn_create_max_pooling2d_nhwc_f32(v->top, v->right, v->bottom, v->left, v->r,
                                                    v->s, v->stride_h, v->stride_w, 1, 1, v->c,
                                                    v->c, v->c, v->least, v->most, 0, &v->operator)
                : xnn_create_average_pooling2d_nhwc_f32(v->top, v->right, v->bottom, v->left, v->r,
                                                        v->s, v->stride_h, v->stride_w, v->c, v->c,
                                                        v->c, v->least, v->most, 0, &v->operator);
  if (made != xnn_status_success) return made;
  return v->is_max ? xnn_setup_max_pooling2d_nhwc_f32(v->operator, v->n, v->h, v->w, v->src, v->dst,
                                                      v->pool)
                   : xnn_setup_average_pooling2d_nhwc_f32(v->operator, v->n, v->h, v->w, v->src,
                                                          v->dst, v->pool);
}

static enum xnn_status MakeFullyConnected(Layer* v) {
  const enum xnn_status made = xnn_create_fully_connected_nc_f32(
      v->inputs, v->k, v->inputs, v->k, v->weights, v->bias, v->least, v->most, 0, &v->operator);
  if (made != xnn_status_success) return made;
  return xnn_setup_fully_connected_nc_f32(v->operator, v->n, v->src, v->dst, v->pool);
}

// Channels last: the layout of an image (N, C, H, W), of weights (K, C, R, S) and of weights in
// groups (G, K, C, R, S); row-major for the others.
static void UseChannelsLast(topdnn_request* request) {
  for (uint32_t i = 0; i < request->operand_count; ++i) {
    topdnn_operand* operand = &request->operands[i];
    operand->layout = operand->rank == 4 ? "acdb" : operand->rank == 5 ? "abdec" : NULL;
  }
}

static const char* ReadWindow(const topdnn_request* request, Layer* v) {
  v->n = (size_t)topdnn_number_of(request, "n");
  v->c = (size_t)topdnn_number_of(request, "c");
  v->h = (size_t)topdnn_number_of(request, "h");
  v->w = (size_t)topdnn_number_of(request, "w");
  v->r = (uint32_t)topdnn_number_of(request, "r");
  v->s = (uint32_t)topdnn_number_of(request, "s");
  v->oh = (uint32_t)topdnn_number_of(request, "oh");
  v->ow = (uint32_t)topdnn_number_of(request, "ow");
  v->stride_h = (uint32_t)topdnn_number_of(request, "stride_h");
  v->stride_w = (uint32_t)topdnn_number_of(request, "stride_w");
  v->top = (uint32_t)topdnn_number_of(request, "pad_top");
  v->left = (uint32_t)topdnn_number_of(request, "pad_left");
  v->bottom = (uint32_t)topdnn_number_of(request, "pad_bottom");
  v->right = (uint32_t)topdnn_number_of(request, "pad_right");
  return NULL;
}

static const char* ReadConv(const topdnn_request* request, Layer* v) {
  if (topdnn_number_of(request, "sum") != 0) return "XNNPACK fuses no addition";
  v->make = MakeConv;
  v->k = (size_t)topdnn_number_of(request, "k");
  v->dilation_h = (uint32_t)topdnn_number_of(request, "dilation_h");
  v->dilation_w = (uint32_t)topdnn_number_of(request, "dilation_w");
  v->groups = (uint32_t)topdnn_number_of(request, "groups");
  return ReadWindow(request, v);
}

static const char* ReadPool(const topdnn_request* request, Layer* v) {
  if (topdnn_operand_of(request, "workspace") != NULL)
    return "XNNPACK saves no winners for a backward pass";
  if (strcmp(request->algorithm, "average_of_padding") == 0)
    return "XNNPACK's average leaves out the padding";
  if (topdnn_number_of(request, "ceil_mode") != 0) return "XNNPACK rounds the extents down";
  v->make = MakePool;
  v->is_max = strcmp(request->algorithm, "max") == 0;
  ReadWindow(request, v);
  if (v->r * v->s == 1) return "XNNPACK has no window of one element";
  return NULL;
}

static const char* ReadFullyConnected(const topdnn_request* request, Layer* v) {
  v->make = MakeFullyConnected;
  v->n = (size_t)topdnn_number_of(request, "n");
  v->inputs = (size_t)topdnn_number_of(request, "inputs");
  v->k = (size_t)topdnn_number_of(request, "outputs");
  return NULL;
}

static void Destroy(void* state) {
  Layer* layer = state;
  xnn_delete_operator(layer->operator);
  free(layer);
}

// One pool for all kernels of a width: the threads of a pool spin for a while after its work.
static pthreadpool_t PoolOf(int32_t threads) {
  enum { kMost = 256 };
  static pthreadpool_t pools[kMost + 1];
  if (threads <= 1 || threads > kMost) return NULL;
  if (pools[threads] == NULL) pools[threads] = pthreadpool_create((size_t)threads);
  return pools[threads];
}

static const char* Create(topdnn_request* request, topdnn_kernel* kernel) {
  if (strcmp(request->pass, "forward") != 0) return "XNNPACK computes the forward pass only";
  if (strcmp(request->type, "f32") != 0) return "this plug-in uses XNNPACK's operators in f32";
  if (xnn_initialize(NULL) != xnn_status_success) return "XNNPACK does not run on this CPU";
  Layer* layer = calloc(1, sizeof *layer);
  if (layer == NULL) return "out of memory";
  const int is_conv = strcmp(request->operation, "conv") == 0;
  const char* why = is_conv                                   ? ReadConv(request, layer)
                    : strcmp(request->operation, "pool") == 0 ? ReadPool(request, layer)
                                                              : ReadFullyConnected(request, layer);
  if (why != NULL) {
    free(layer);
    return why;
  }
  const int relu = topdnn_number_of(request, "relu") != 0;
  const double bound = topdnn_number_of(request, "relu_bound");
  layer->least = relu ? 0 : -INFINITY;
  layer->most = relu && bound > 0 ? (float)bound : INFINITY;
  UseChannelsLast(request);
  kernel->state = layer;
  kernel->implementation = is_conv ? "xnnpack:igemm" : "xnnpack";
  layer->pool = PoolOf(request->threads);
  return NULL;
}

static const char* Prepare(void* state, const topdnn_operand* operands, uint32_t count) {
  Layer* layer = state;
  for (uint32_t i = 0; i < count; ++i) {
    if (strcmp(operands[i].role, "src") == 0) layer->src = operands[i].data;
    if (strcmp(operands[i].role, "weights") == 0) layer->weights = operands[i].data;
    if (strcmp(operands[i].role, "bias") == 0) layer->bias = operands[i].data;
    if (strcmp(operands[i].role, "dst") == 0) layer->dst = operands[i].data;
  }
  return NULL;
}

// XNNPACK packs the weights when it makes an operator.
static const char* Load(void* state) {
  Layer* layer = state;
  if (layer->operator!= NULL) xnn_delete_operator(layer->operator);
  layer->operator= NULL;
  return layer->make(layer) == xnn_status_success ? NULL : "XNNPACK makes no such operator";
}

static int32_t Run(void* state) {
  const Layer* layer = state;
  return (int32_t)xnn_run_operator(layer->operator, layer->pool);
}

const topdnn_plugin_table* topdnn_plugin(void) {
  static const char* const operations[] = {"conv", "pool", "inner_product", NULL};
  static const topdnn_plugin_table table = {
      TOPDNN_PLUGIN_ABI, sizeof table, "xnnpack", "2022-02-16", operations, Create,
      Prepare,           Load,         Run,       Destroy};
  return &table;
}
