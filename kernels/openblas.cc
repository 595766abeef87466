#include "kernels/openblas.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

namespace topdnn::openblas {

std::string RefusalOf(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32) {
    return fmt::format("OpenBLAS computes in f32, not {}", NameOf(request.execution.type));
  }
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return fmt::format("OpenBLAS takes row-major tensors, not {} as {}", layout.tag(),
                         NameOf(operand.arg));
    }
    for (const std::int64_t extent : operand.shape.extents()) {
      if (extent > std::numeric_limits<blasint>::max()) {
        return fmt::format("OpenBLAS has 32-bit extents; {} as {} is larger",
                           operand.shape.ToString(), NameOf(operand.arg));
      }
    }
  }
  return {};
}

std::string Implementation(const std::string& algorithm) {
  return fmt::format("{}:openblas_{}", algorithm, openblas_get_corename());
}

std::string Isa() {
  // Core names in OpenBLAS 0.3.21's x86-64 table, with the ISA of the widest kernels of each.
  static constexpr std::pair<std::string_view, const char*> kCores[] = {
      {"SkylakeX", "avx512"}, {"Cooperlake", "avx512"}, {"Sapphirerapids", "avx512"},
      {"Haswell", "avx2"},    {"Zen", "avx2"},          {"Excavator", "avx2"},
      {"Sandybridge", "avx"}, {"Bulldozer", "avx"},     {"Piledriver", "avx"},
      {"Steamroller", "avx"}, {"Nehalem", "sse41"},     {"Penryn", "sse41"},
  };
  const std::string_view core = openblas_get_corename();
  for (const auto& [name, isa] : kCores) {
    if (name == core) return isa;
  }
  return "";
}

}  // namespace topdnn::openblas
