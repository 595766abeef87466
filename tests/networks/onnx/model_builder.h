// Writes ONNX models node by node, as other exporters would do, for tests of the importer.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_MODEL_BUILDER_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_MODEL_BUILDER_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace topdnn {

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 13) {
    proto.set_ir_version(7);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  // A dimension of 0 stays open.
  ModelBuilder& Input(const std::string& name, const std::vector<std::int64_t>& dims,
                      int type = onnx::TensorProto::FLOAT) {
    Describe(*proto.mutable_graph()->add_input(), name, dims, type);
    return *this;
  }
  ModelBuilder& Output(const std::string& name, int type = onnx::TensorProto::FLOAT) {
    Describe(*proto.mutable_graph()->add_output(), name, {0}, type);
    return *this;
  }
  // A version of another domain, such as com.microsoft.
  ModelBuilder& Domain(const std::string& domain) {
    onnx::OperatorSetIdProto& import = *proto.add_opset_import();
    import.set_domain(domain);
    import.set_version(1);
    return *this;
  }
  // The node's result has the node's name.
  onnx::NodeProto& Node(const std::string& op_type, const std::string& name,
                        const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *proto.mutable_graph()->add_node();
    node.set_op_type(op_type);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(name);
    return node;
  }
  // Small numbers, which repeat after 13 elements.
  onnx::TensorProto& Floats(const std::string& name, const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>((i * 7) % 13 - 6) / 16.0F);
    }
    return Floats(name, dims, values);
  }
  onnx::TensorProto& Floats(const std::string& name, const std::vector<std::int64_t>& dims,
                            const std::vector<float>& values) {
    onnx::TensorProto& tensor = Tensor(name, dims, onnx::TensorProto::FLOAT);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  // An element type of at most 32 bits.
  onnx::TensorProto& Integers(const std::string& name, int type,
                              const std::vector<std::int64_t>& dims,
                              const std::function<int(int)>& value) {
    onnx::TensorProto& tensor = Tensor(name, dims, type);
    int count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<int>(dim);
    for (int i = 0; i < count; ++i) tensor.add_int32_data(value(i));
    return tensor;
  }
  onnx::TensorProto& Integers(const std::string& name, int type,
                              const std::vector<std::int64_t>& dims, int value) {
    return Integers(name, type, dims, [value](int) { return value; });
  }
  // Stored as a list instead of raw bytes. The importer must read both.
  onnx::TensorProto& Ints(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& tensor =
        Tensor(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return tensor;
  }
  onnx::TensorProto& Scalar(const std::string& name, std::int64_t value) {
    onnx::TensorProto& tensor = Ints(name, {value});
    tensor.clear_dims();
    return tensor;
  }

  std::string Bytes() const { return proto.SerializeAsString(); }

  onnx::ModelProto proto;

 private:
  onnx::TensorProto& Tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                            int type) {
    onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    return tensor;
  }
  static void Describe(onnx::ValueInfoProto& value, const std::string& name,
                       const std::vector<std::int64_t>& dims, int elements) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(elements);
    type.mutable_shape();
    for (const std::int64_t dim : dims) {
      auto& added = *type.mutable_shape()->add_dim();
      if (dim == 0) {
        added.set_dim_param("open");
      } else {
        added.set_dim_value(dim);
      }
    }
  }
};

inline void AddInt(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void AddFloat(onnx::NodeProto& node, const std::string& name, float value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

inline void AddInts(onnx::NodeProto& node, const std::string& name,
                    const std::vector<std::int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_MODEL_BUILDER_H_
