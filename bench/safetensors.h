// The safetensors format of Hugging Face: eight bytes with the length of a header, the header in
// JSON, the data of every tensor. https://github.com/huggingface/safetensors#format

#ifndef TOPDNN_BENCH_SAFETENSORS_H_
#define TOPDNN_BENCH_SAFETENSORS_H_

#include <string>
#include <string_view>

#include "bench/npz.h"

namespace topdnn {

// The tensors by name. f16 and bf16 come as f32. Every tensor's place is checked against the bytes
// that are there before memory is taken for it. Throws UsageError, in one line that begins with
// `where`.
NamedArrays DecodeSafetensors(std::string_view bytes, const std::string& where);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SAFETENSORS_H_
