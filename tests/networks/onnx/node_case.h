// The node tests that the ONNX project publishes (Debian package libonnx-testdata): folders with a
// model of one node, its inputs, and its outputs by definition. Other people wrote them and
// computed them with NumPy, so they check the reference backend independently. Here a case is plain
// data; only node_case.cc uses protobuf.

#ifndef TOPDNN_TESTS_NETWORKS_ONNX_NODE_CASE_H_
#define TOPDNN_TESTS_NETWORKS_ONNX_NODE_CASE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// Row-major. Boolean tensors are u8.
struct OnnxTensor {
  Shape shape;
  DataType type = DataType::kF32;
  std::vector<double> values;
};

struct NodeCase {
  std::string name;  // name of the folder, and of the data set when there are several
  std::string op_type;
  std::int64_t opset = 0;
  // Attributes by name.
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, float> floats;
  std::map<std::string, std::string> strings;
  std::map<std::string, std::vector<std::int64_t>> int_lists;
  // The case as models of networks, for the importer, by the position of the only output that a
  // model keeps. All inputs but the first are initializers.
  std::map<std::size_t, std::string> models;
  // By position; nothing for an optional input that is left out.
  std::vector<std::optional<OnnxTensor>> inputs;
  std::vector<std::optional<OnnxTensor>> outputs;

  std::int64_t Int(const std::string& attribute, std::int64_t otherwise) const;
  float Float(const std::string& attribute, float otherwise) const;
  std::string String(const std::string& attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> Ints(const std::string& attribute,
                                 std::vector<std::int64_t> otherwise) const;
  // nullptr when the input is left out.
  const OnnxTensor* Input(std::size_t i) const;
  const OnnxTensor* Output(std::size_t i) const;
};

// The folder where the Debian package installs the cases.
inline constexpr const char* kOnnxNodeTests = "/usr/share/libonnx-testdata/data/node";
// Published networks whose weights are constants of equal elements, with their results
// (since 1.13).
inline constexpr const char* kOnnxLightModels = "/usr/share/libonnx-testdata/data/light";

struct CaseFolder {
  std::string name;     // "test_relu"
  std::string op_type;  // op_type of its node, or of the node that was expanded
  bool expanded;        // whether a node is expanded into a function of several others
};

// All cases below `root`, sorted by name. Throws std::runtime_error for a model that cannot be
// read.
std::vector<CaseFolder> FindCaseFolders(const std::string& root = kOnnxNodeTests);

// The tensor in a file. Throws like ReadCases.
OnnxTensor ReadTensor(const std::filesystem::path& path);

// Whether the installed cases are those that docs/onnx.md counts, of ONNX 1.12. ONNX 1.17 has
// others.
bool AreDocumentedCases();

// The cases of a folder that is not expanded, one for each of its data sets. Throws
// std::runtime_error in one line when a file is missing, broken or of a type that is not supported
// here.
std::vector<NodeCase> ReadCases(const std::string& folder,
                                const std::string& root = kOnnxNodeTests);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_NETWORKS_ONNX_NODE_CASE_H_
