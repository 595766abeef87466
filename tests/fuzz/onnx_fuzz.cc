// A libFuzzer target (https://llvm.org/docs/LibFuzzer.html): the ONNX importer with arbitrary
// bytes. The importer must return a network or throw OnnxError. Anything else is a finding, and so
// is exceeding libFuzzer's limits of memory and time.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "networks/onnx/import/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  topdnn::ImportOptions options;
  options.memory_limit = std::size_t{64} << 20;
  try {
    const auto network = topdnn::ImportOnnx({reinterpret_cast<const char*>(data), size}, options);
    static_cast<void>(network.graph.Totals());
  } catch (const topdnn::OnnxError&) {
  }
  return 0;
}
