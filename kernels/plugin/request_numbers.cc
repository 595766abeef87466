#include "kernels/plugin/request_numbers.h"

#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/pool/pool.h"

namespace topdnn {

namespace {

class NumberList {
 public:
  void Add(const char* name, std::int64_t value) { AddReal(name, static_cast<double>(value)); }
  void AddReal(const char* name, double value) { numbers_.push_back({name, value}); }

  // The image and the window of a convolution or a pooling.
  template <typename Extents>
  void AddWindow(const Extents& e) {
    Add("n", e.n);
    Add("c", e.c);
    Add("h", e.h);
    Add("w", e.w);
    Add("r", e.r);
    Add("s", e.s);
    Add("oh", e.oh());
    Add("ow", e.ow());
    Add("stride_h", e.stride_h);
    Add("stride_w", e.stride_w);
    Add("pad_top", e.pad_top);
    Add("pad_left", e.pad_left);
    Add("pad_bottom", e.pad_bottom);
    Add("pad_right", e.pad_right);
  }

  std::vector<topdnn_number> Take() { return std::move(numbers_); }

 private:
  std::vector<topdnn_number> numbers_;
};

void AddConv(const ConvOp& op, NumberList& list) {
  const ConvExtents& e = op.extents();
  list.AddWindow(e);
  list.Add("k", e.k);
  list.Add("dilation_h", e.dilation_h);
  list.Add("dilation_w", e.dilation_w);
  list.Add("groups", e.groups);
  list.Add("bias", op.epilogue().bias ? 1 : 0);
  list.Add("sum", op.epilogue().sum ? 1 : 0);
  list.Add("relu", op.epilogue().relu ? 1 : 0);
  list.AddReal("relu_bound", op.epilogue().bound);
}

void AddInnerProduct(const InnerProductOp& op, NumberList& list) {
  list.Add("n", op.batch());
  list.Add("inputs", op.inputs());
  list.Add("outputs", op.outputs());
  list.Add("bias", op.epilogue().bias ? 1 : 0);
  list.Add("relu", op.epilogue().relu ? 1 : 0);
  list.AddReal("relu_bound", op.epilogue().bound);
}

void AddGemm(const GemmOp& op, NumberList& list) {
  const GemmExtents& e = op.extents();
  list.Add("m", e.m);
  list.Add("n", e.n);
  list.Add("k", e.k);
  list.Add("batch", e.batch);
  list.Add("trans_a", e.trans_a ? 1 : 0);
  list.Add("trans_b", e.trans_b ? 1 : 0);
  list.AddReal("alpha", e.alpha);
  list.AddReal("beta", e.beta);
}

}  // namespace

std::vector<topdnn_number> NumbersOf(const Op& op) {
  NumberList list;
  if (const auto* conv = dynamic_cast<const ConvOp*>(&op)) AddConv(*conv, list);
  if (const auto* product = dynamic_cast<const InnerProductOp*>(&op)) {
    AddInnerProduct(*product, list);
  }
  if (const auto* gemm = dynamic_cast<const GemmOp*>(&op)) AddGemm(*gemm, list);
  if (const auto* pool = dynamic_cast<const PoolOp*>(&op)) {
    list.AddWindow(pool->extents());
    list.Add("ceil_mode", pool->extents().ceil_mode ? 1 : 0);
  }
  return list.Take();
}

std::string AlgorithmOf(const Op& op) {
  const auto* pool = dynamic_cast<const PoolOp*>(&op);
  return pool == nullptr ? "" : std::string(NameOf(pool->algorithm()));
}

}  // namespace topdnn
