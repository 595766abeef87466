// The ways to compute an operation that are worth telling apart: a backend by its own choice, and
// that backend held to a layout or an algorithm. Each backend is a variant of its own name; further
// ones announce themselves:
//
//   const VariantRegistration kNhwc({.name = "onednn-nhwc", .backend = "onednn", ...});

#ifndef TOPDNN_KERNELS_VARIANT_H_
#define TOPDNN_KERNELS_VARIANT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/op.h"

namespace topdnn {

struct Variant {
  std::string name;     // "onednn-nhwc"
  std::string backend;  // "onednn"
  std::string algorithm = {};
  // The only operation that it exists for; empty: every one.
  std::string kind = {};
  // The types that it is worth asking for.
  std::vector<DataType> types = {DataType::kF32};
  // The layout of every activation (an operand of four dimensions that is no parameter) of
  // `shape`, for an operation that chooses its layouts (`chooses`) or follows its source; nullptr:
  // the backend's choice.
  Layout (*activations)(const Shape& shape, bool chooses) = nullptr;
};

class VariantRegistration {
 public:
  explicit VariantRegistration(Variant variant);
};

// Every variant, sorted by name.
std::vector<Variant> Variants();
std::optional<Variant> FindVariant(std::string_view name);

// What to ask the variant's backend for. Nothing when the variant does not exist for the operation
// or the type, or would ask for nothing that its backend by itself does not: a layout of images
// where there are none.
std::optional<KernelRequest> RequestOf(const Variant& variant, std::shared_ptr<const Op> op,
                                       const Execution& execution, int threads);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_VARIANT_H_
