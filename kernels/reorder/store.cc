#include "kernels/reorder/store.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/reorder/reorder.h"
#include "kernels/tensor/tensor_copy.h"

namespace topdnn {

namespace {

TensorDesc RowMajor(const TensorDesc& desc) {
  return {desc.shape, desc.type, Layout::Plain(desc.shape.rank())};
}

void Reorder(const TensorDesc& from, const void* src, const TensorDesc& to, void* dst,
             const std::string& backend) {
  KernelRequest request;
  request.op = std::make_shared<ReorderOp>(from.shape, from.type, to.type);
  request.layouts = {{Arg::kSrc, from.layout}, {Arg::kDst, to.layout}};
  KernelOrRefusal answer = MakeKernel(backend, request);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    throw std::invalid_argument(fmt::format("{} cannot reorder {} {} from {} to {}: {}", backend,
                                            from.shape.ToString(), NameOf(from.type),
                                            from.layout.tag(), to.layout.tag(), refusal->reason));
  }
  const auto& kernel = std::get<std::unique_ptr<Kernel>>(answer);
  // (a reorder only reads its source)
  kernel->Prepare({{Arg::kSrc, const_cast<void*>(src)}, {Arg::kDst, dst}});
  const ThreadWidth width(request.threads);
  kernel->Run();
}

// `write` is FromDouble or FromFloat.
template <typename Write, typename Values>
void Store(Write write, Values values, const TensorDesc& desc, void* data,
           const std::string& backend) {
  if (!desc.layout.is_opaque()) return write(values, desc, data);
  const Tensor plain(RowMajor(desc));
  write(values, plain.desc(), plain.data());
  Reorder(plain.desc(), plain.data(), desc, data, backend);
}

}  // namespace

void StoreValues(std::span<const double> values, const TensorDesc& desc, void* data,
                 const std::string& backend) {
  Store(FromDouble, values, desc, data, backend);
}

void StoreValues(std::span<const float> values, const TensorDesc& desc, void* data,
                 const std::string& backend) {
  const TensorDesc given = RowMajor(desc);
  if (desc.type != DataType::kF32 || desc.layout == given.layout ||
      values.size() != static_cast<std::size_t>(desc.shape.elements())) {
    return Store(FromFloat, values, desc, data, backend);
  }
  // (the weights of a network: without a copy of them)
  if (desc.layout.is_opaque()) return Reorder(given, values.data(), desc, data, backend);
  const ThreadWidth width(1);
  TensorCopy(given, desc).Run(values.data(), data);
}

std::vector<double> LoadValues(const TensorDesc& desc, const void* data,
                               const std::string& backend) {
  if (!desc.layout.is_opaque()) return ToDouble(desc, data);
  const Tensor plain(RowMajor(desc));
  Reorder(desc, data, plain.desc(), plain.data(), backend);
  return ToDouble(plain.desc(), plain.data());
}

}  // namespace topdnn
