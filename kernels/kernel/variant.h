// The variants of an operation's implementation that are compared: a backend with its own choices,
// or a backend restricted to a layout or an algorithm. Each backend is a variant of its own name.
// Other variants are registered:
//
//   const VariantRegistration kNhwc({.name = "onednn-nhwc", .backend = "onednn", ...});

#ifndef TOPDNN_KERNELS_KERNEL_VARIANT_H_
#define TOPDNN_KERNELS_KERNEL_VARIANT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/kernel.h"
#include "kernels/op/op.h"

namespace topdnn {

struct Variant {
  std::string name;     // "onednn-nhwc"
  std::string backend;  // "onednn"
  std::string algorithm = {};
  // The backend whose workspaces its kernels write and read. Empty: its own backend.
  std::string workspaces = {};
  // The operations that the variant is for. Empty: all operations.
  std::vector<std::string> kinds = {};
  // The element types that the variant is for.
  std::vector<DataType> types = {DataType::kF32};
  // The layout of every activation of `shape` (an operand of four dimensions that is neither
  // weights, their gradient nor a workspace). `chooses` is true for an operation that chooses its
  // layouts, false for one that keeps its source's. nullptr: the backend chooses.
  Layout (*activations)(const Shape& shape, bool chooses) = nullptr;
};

inline const std::string& WorkspacesOf(const Variant& variant) {
  return variant.workspaces.empty() ? variant.backend : variant.workspaces;
}

class VariantRegistration {
 public:
  explicit VariantRegistration(const Variant& variant);
};

// Every variant, sorted by name.
std::vector<Variant> Variants();
std::optional<Variant> FindVariant(std::string_view name);

// The request to the variant's backend. Nothing when the variant does not exist for the operation
// or the type, and when the request would be the same as the backend's own (a layout of images for
// an operation without images).
std::optional<KernelRequest> RequestOf(const Variant& variant, std::shared_ptr<const Op> op,
                                       const Execution& execution, int threads);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_VARIANT_H_
