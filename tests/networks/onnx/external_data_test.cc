// Weights in other files than the model's.

#include "networks/onnx/model/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

using Entries = std::vector<std::pair<std::string, std::string>>;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<float> values = {100, 2, 3};  // the weights are 2, 3
    fs::create_directories(Path("model/weights"));
    folder_.Write("model/weights/w.bin", Raw(values));
    folder_.Write("secret.bin", Raw(values));
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  static std::string Raw(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }

  // Two elements times weights that are elsewhere.
  static std::string Model(const Entries& entries, const std::vector<std::int64_t>& dims = {2}) {
    ModelBuilder model;
    model.Input("x", {1, 2}).Output("y");
    onnx::TensorProto& weights = *model.proto.mutable_graph()->add_initializer();
    weights.set_name("w");
    weights.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : dims) weights.add_dims(dim);
    weights.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& entry = *weights.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    model.Node("Mul", "y", {"x", "w"});
    return model.Bytes();
  }

  std::string Refused(const Entries& entries, const std::vector<std::int64_t>& dims = {2},
                      std::size_t limit = 0) const {
    return RefusalOf(Model(entries, dims), {.folder = Path("model"), .memory_limit = limit});
  }

  TestFolder folder_;
};

TEST_F(ExternalDataTest, IsReadAtItsOffset) {
  const std::vector<Entries> places = {
      {{"location", "weights/w.bin"}, {"offset", "4"}, {"length", "8"}},
      {{"location", "./weights/w.bin"}, {"offset", "4"}},
      {{"location", "inner.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "0"}}};
  fs::create_symlink("weights/w.bin", Path("model/inner.bin"));
  for (const Entries& entries : places) {
    const ImportedNetwork network = ImportOnnx(Model(entries), {.folder = Path("model")});
    EXPECT_THAT(RunGraph(network.graph, network.parameters, {10, 20}), ElementsAre(20, 60));
  }
}

TEST_F(ExternalDataTest, FilesOutsideTheFolderAreRefused) {
  fs::create_symlink(Path("secret.bin"), Path("model/link.bin"));
  fs::create_directory_symlink(Path(""), Path("model/up"));
  for (const std::string& location :
       {std::string("../secret.bin"), std::string("weights/../../secret.bin"), Path("secret.bin"),
        Path("model/weights/w.bin"), std::string("link.bin"), std::string("up/secret.bin")}) {
    EXPECT_THAT(Refused({{"location", location}, {"offset", "4"}}),
                HasSubstr("initializer w: its data are in '"))
        << location;
    EXPECT_THAT(Refused({{"location", location}, {"offset", "4"}}),
                HasSubstr("outside the model's folder"))
        << location;
  }
}

TEST_F(ExternalDataTest, EachFaultHasItsLine) {
  const std::string file = "weights/w.bin";
  EXPECT_THAT(RefusalOf(Model({{"location", file}})), HasSubstr("all its data in one file"));
  EXPECT_THAT(Refused({}), HasSubstr("in another file without a name"));
  EXPECT_THAT(Refused({{"location", "none.bin"}}),
              HasSubstr("'none.bin', which cannot be opened; put it beside the model"));
  EXPECT_THAT(Refused({{"location", "weights"}}), HasSubstr("'weights', which is no file"));
  EXPECT_THAT(Refused({{"location", std::string("w\0.bin", 6)}}), HasSubstr("no name of a file"));
  EXPECT_THAT(Refused({{"location", file}, {"offset", "-4"}}),
              HasSubstr("the offset of its data is '-4', no number"));
  EXPECT_THAT(Refused({{"location", file}, {"length", "8 "}}),
              HasSubstr("the length of its data is '8 ', no number"));
  EXPECT_THAT(Refused({{"location", file}, {"length", "99999999999999999999"}}),
              HasSubstr("no number"));
  EXPECT_THAT(Refused({{"location", file}, {"offset", "16"}, {"length", "8"}}),
              HasSubstr("has 12 bytes, but its data are 8 bytes from 16"));
  EXPECT_THAT(Refused({{"location", file}, {"offset", "8"}, {"length", "18446744073709551612"}}),
              HasSubstr("bytes from 8"));
  EXPECT_THAT(Refused({{"location", file}, {"offset", "4"}, {"length", "4"}}),
              HasSubstr("4 bytes of data in 'weights/w.bin', but its shape needs 8"));
  EXPECT_THAT(Refused({{"location", file}}), HasSubstr("12 bytes of data"));
  EXPECT_THAT(Refused({{"location", file}}, {1 << 20, 1 << 20}), HasSubstr("needs 4398046511104"));
}

// A file with a hole takes no space, but its contents would.
TEST_F(ExternalDataTest, IsLimitedByTheMemory) {
  folder_.Write("model/large.bin", "");
  fs::resize_file(Path("model/large.bin"), std::size_t{1} << 34);
  EXPECT_THAT(Refused({{"location", "large.bin"}}, {1 << 16, 1 << 16}, std::size_t{1} << 26),
              HasSubstr("more than the 64 MiB that may be used"));
}

}  // namespace
}  // namespace topdnn
