// The safetensors format of Hugging Face: eight bytes with the length of a header, the header in
// JSON, the data of every tensor. https://github.com/huggingface/safetensors#format

#ifndef TOPDNN_BENCH_FORMATS_SAFETENSORS_H_
#define TOPDNN_BENCH_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/formats/npz.h"

namespace topdnn {

// A tensor as the header describes it.
struct SafetensorsEntry {
  std::string name;
  Shape shape;
  DataType type = DataType::kF32;
  std::size_t begin = 0, end = 0;  // bytes, from the first after the header
};

// A file in memory. The position of every tensor is checked against the size of the file and the
// other tensors before any memory is allocated. The constructor throws UsageError, in one line that
// begins with `where`.
class SafetensorsReader {
 public:
  SafetensorsReader(std::string bytes, const std::string& where);

  // By name.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  // Converts f16 and bf16 to f32.
  NpyArray Read(std::size_t index) const;

 private:
  std::string bytes_;
  std::size_t data_ = 0;  // where the tensors begin
  std::vector<SafetensorsEntry> entries_;
};

// Reads every tensor of a file. Throws as the reader does.
NamedArrays DecodeSafetensors(std::string_view bytes, const std::string& where);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_SAFETENSORS_H_
