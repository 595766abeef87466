// An ONNX model as plain data. It is read from untrusted bytes: each tensor has as many bytes as
// its shape needs; the values of attributes are not checked. Only model.cc, parsed_size and the
// files that export use protobuf.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_MODEL_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/request_error.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// Opsets of ONNX's domain. What differs in the oldest and newest is in operator_versions.h.
inline constexpr std::int64_t kOldestOpset = 6;
inline constexpr std::int64_t kNewestOpset = 26;

// A model that cannot be read. One line: what, where and the fix.
class OnnxError : public RequestError {
 public:
  using RequestError::RequestError;
};

// Row-major. The number of bytes matches the shape.
struct ModelTensor {
  Shape shape;
  DataType type = DataType::kF32;
  std::string bytes;
  // Of a dequantized constant: each element is an integer times the scale of its first index, or
  // times the only scale. Empty for other tensors.
  std::vector<float> scales = {};
  bool boolean = false;  // of ONNX's bool: u8 with 0 and 1
  // The node that computed it from other constants ("Mul at node 3"); empty: the elements are the
  // file's, possibly in another order.
  std::string computed_by = {};

  std::int64_t elements() const { return shape.elements(); }
};

std::vector<double> ValuesOf(const ModelTensor& tensor);
// The integers of a tensor. Throws std::invalid_argument for other element types.
std::vector<std::int64_t> IntsOf(const ModelTensor& tensor);
// Makes a tensor with values rounded to the type. Values of s64 are limited to +-2^62.
ModelTensor MakeTensor(Shape shape, DataType type, std::vector<double> values);

// An attribute. At most one member is set: none for an empty list or a kind that is not supported.
struct ModelAttribute {
  std::optional<std::int64_t> i;
  std::optional<float> f;
  std::optional<std::string> s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::shared_ptr<const ModelTensor> tensor;
  std::string of_call = {};  // in a function: the attribute of the call whose value it has
};

struct ModelNode {
  std::string name;                   // may be empty or the same as another node's
  std::string op_type;                // with its domain ("com.example::Op") unless it is ONNX's
  std::int64_t opset = kNewestOpset;  // of ONNX's domain
  std::vector<std::string> inputs, outputs;  // names of values; empty: left out
  std::map<std::string, ModelAttribute> attributes;

  bool Has(const std::string& attribute) const { return attributes.count(attribute) > 0; }
  std::int64_t Int(const std::string& attribute, std::int64_t otherwise) const;
  float Float(const std::string& attribute, float otherwise) const;
  std::string String(const std::string& attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> Ints(const std::string& attribute,
                                 const std::vector<std::int64_t>& otherwise) const;
};

// An input of the model. A dimension without a number is open: the user sets it. Open dimensions of
// the same name have the same extent.
struct ModelInput {
  std::string name;
  std::int64_t type = 0;  // ONNX's number
  bool has_shape = false;
  std::vector<std::optional<std::int64_t>> dims;
  std::vector<std::string> symbols = {};  // per dimension: its name; empty: none
};

struct Model {
  std::int64_t opset = 0;
  std::vector<ModelNode> nodes;  // each after those that compute its inputs
  std::map<std::string, std::shared_ptr<const ModelTensor>> initializers;
  std::vector<ModelInput> inputs;  // without those that have an initializer
  std::vector<std::string> outputs;
  std::map<std::string, std::int64_t> output_types = {};  // ONNX's numbers
};

// ONNX's numbers of element types (TensorProto.DataType), as used by Cast.
inline constexpr std::int64_t kOnnxFloat = 1, kOnnxUint8 = 2, kOnnxInt8 = 3, kOnnxInt32 = 6,
                              kOnnxInt64 = 7, kOnnxBool = 9, kOnnxFloat16 = 10, kOnnxDouble = 11,
                              kOnnxBfloat16 = 16;

// An element type of ONNX that a tensor may have. Booleans are u8.
struct OnnxType {
  std::int64_t number;
  DataType type;
  std::string_view name;
};

// All of them. Of two that are stored alike, the number is before the boolean.
inline constexpr OnnxType kOnnxTypes[] = {
    {kOnnxFloat, DataType::kF32, "float"},     {kOnnxDouble, DataType::kF64, "double"},
    {kOnnxFloat16, DataType::kF16, "float16"}, {kOnnxBfloat16, DataType::kBF16, "bfloat16"},
    {kOnnxInt64, DataType::kS64, "int64"},     {kOnnxInt32, DataType::kS32, "int32"},
    {kOnnxInt8, DataType::kS8, "int8"},        {kOnnxUint8, DataType::kU8, "uint8"},
    {kOnnxBool, DataType::kU8, "bool"}};
// The type with this number, or nullptr.
const OnnxType* FindOnnxType(std::int64_t number);

// More than any convolutional network has, and small enough for algorithms with quadratic time.
inline constexpr std::size_t kMaxNodes = 20000;

// Where a model's bytes are: in memory, or the first `size` bytes of an open regular file, which is
// then read in small pieces.
struct ModelBytes {
  const char* memory = nullptr;
  std::size_t size = 0;
  int file = -1;  // a descriptor; -1: in memory
};

// Parses a model. Weights may be in other files of `folder` (empty: none; external_data.h). Throws
// OnnxError for bytes that are not a model, for damaged files, for what is not supported (operator
// sets, element types, sparse weights, more than kMaxNodes nodes), and when reading would need more
// than `memory_limit` bytes (0: no limit).
Model ParseModel(const ModelBytes& bytes, std::size_t memory_limit, const std::string& folder = {});

// A name from a file, safe to print: bytes that are not ASCII text become '?', and a long name is
// cut.
std::string Printable(std::string_view name);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_MODEL_H_
