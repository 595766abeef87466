// An ONNX model as plain data, read from bytes that are not trusted: what is here has been checked
// against the bytes that were there. Only model.cc and exporter.cc know protobuf.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor.h"

namespace topdnn {

// A model that cannot be read: one line with what, where and the fix.
class OnnxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Row-major, as many bytes as the shape has elements.
struct ModelTensor {
  Shape shape;
  DataType type = DataType::kF32;
  std::string bytes;

  std::int64_t elements() const { return shape.elements(); }
};

std::vector<double> ValuesOf(const ModelTensor& tensor);
// Of an integer tensor; throws std::invalid_argument for another.
std::vector<std::int64_t> IntsOf(const ModelTensor& tensor);
// Rounded to the type; for an integer one beyond +-2^62 those.
ModelTensor MakeTensor(Shape shape, DataType type, std::vector<double> values);

// What kind it is shows in which member is not empty.
struct ModelAttribute {
  std::optional<std::int64_t> i;
  std::optional<float> f;
  std::optional<std::string> s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::shared_ptr<const ModelTensor> tensor;
};

struct ModelNode {
  std::string name;     // may be empty, or that of another node, too
  std::string op_type;  // with its domain, "com.example::Op", unless that is ONNX's own
  std::vector<std::string> inputs, outputs;  // values; empty where an optional one is left out
  std::map<std::string, ModelAttribute> attributes;

  bool Has(const std::string& attribute) const { return attributes.count(attribute) > 0; }
  std::int64_t Int(const std::string& attribute, std::int64_t otherwise) const;
  float Float(const std::string& attribute, float otherwise) const;
  std::string String(const std::string& attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> Ints(const std::string& attribute,
                                 std::vector<std::int64_t> otherwise) const;
};

// An input of the whole model. A dimension without a number is open: the user settles it.
struct ModelInput {
  std::string name;
  bool is_float = false;   // of 32 or 16 bits
  bool is_double = false;  // of 64 bits
  bool has_shape = false;
  std::vector<std::optional<std::int64_t>> dims;
};

struct Model {
  std::int64_t opset = 0;
  std::vector<ModelNode> nodes;  // each after those that make what it reads
  std::map<std::string, std::shared_ptr<const ModelTensor>> initializers;
  std::vector<ModelInput> inputs;  // without those that an initializer gives
  std::vector<std::string> outputs;
};

// ONNX's numbers of element types (TensorProto.DataType), as a Cast names them.
inline constexpr std::int64_t kOnnxFloat = 1, kOnnxInt32 = 6, kOnnxInt64 = 7, kOnnxDouble = 11;

inline constexpr std::int64_t kOldestOpset = 7;
inline constexpr std::int64_t kNewestOpset = 17;
// More than any convolutional network has, and few enough for what is quadratic in them.
inline constexpr std::size_t kMostNodes = 20000;

// Throws OnnxError for what is no model, is damaged, keeps its weights elsewhere, or would take
// more than `memory_limit` bytes of memory (0: no limit).
Model ParseModel(std::string_view bytes, std::size_t memory_limit);

// A name from a file as a message may print it: bytes that are no ASCII text become '?', and a long
// one is cut.
std::string Printable(std::string_view name);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_H_
