// Tensors whose data are in other files beside the model (TensorProto.data_location EXTERNAL; ONNX,
// docs/ExternalData.md). The names of the files are untrusted: only files inside the model's own
// folder are read.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_EXTERNAL_DATA_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_EXTERNAL_DATA_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace topdnn {

class ExternalData {
 public:
  // `folder`: that of the model; empty: there is none, and every such tensor is an error.
  // `memory_limit`: in bytes, for all tensors together; 0: no limit.
  ExternalData(std::string folder, std::size_t memory_limit)
      : folder_(std::move(folder)), memory_limit_(memory_limit) {}

  // The `expected` bytes of a tensor. `entries`: the tensor's external_data, by key. Throws
  // OnnxError, in one line that begins with `what`.
  std::string Read(const std::map<std::string, std::string>& entries, std::size_t expected,
                   const std::string& what);

 private:
  std::string folder_;
  std::size_t memory_limit_;
  std::size_t read_ = 0;  // bytes of all tensors so far
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_EXTERNAL_DATA_H_
