// Rows of the drivers whose problems are shapes: "2x16x28x28".

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/benchdnn/benchdnn_descriptor.h"
#include "bench/benchdnn/benchdnn_rows.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

std::string ShapesText(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::string text;
  for (const auto& shape : shapes) {
    if (!text.empty()) text += ":";
    text += fmt::format("{}", fmt::join(shape, "x"));
  }
  return text;
}

// The shapes of a problem, which has from `least` to `most`.
std::vector<std::vector<std::int64_t>> ShapesOf(const BenchdnnChoice& choice, std::string_view text,
                                                std::size_t least, std::size_t most) {
  const auto mb = choice.find("mb");
  auto shapes = ParseShapes(text, mb == choice.end() ? 0 : MinibatchOf(choice));
  if (shapes.size() < least || shapes.size() > most) {
    throw BenchdnnError(
        fmt::format("the problem '{}' has {}; this driver takes {}", OneLine(text),
                    CountText(std::ssize(shapes), "shape"),
                    most == least ? fmt::format("{}", least) : fmt::format("{} or more", least)));
  }
  return shapes;
}

int Rank(const std::vector<std::int64_t>& shape) { return static_cast<int>(shape.size()); }

// One tag for each source, or one for all.
std::vector<std::string_view> TagsOf(const std::string& text, std::size_t sources) {
  std::vector<std::string_view> tags = SplitText(text, ":");
  if (tags.size() == 1) tags.assign(sources, tags.front());
  if (tags.size() != sources) {
    throw BenchdnnError(
        fmt::format("--stag={} has {} tags for {} sources; give one tag, or one for each source",
                    OneLine(text), tags.size(), sources));
  }
  return tags;
}

// The result, in the layout of the first source if its tag is undef.
TracedTensor ResultTensor(const BenchdnnChoice& choice, std::string_view first_tag, int rank) {
  const std::string& tag = At(choice, "dtag");
  return TensorOf("dst", ParseTypes(At(choice, "ddt"), 1).front(),
                  tag == "undef" ? first_tag : std::string_view(tag), rank);
}

int MaskOf(std::string_view text) {
  const auto mask = ParseNumber<int>(text);
  if (!(mask >= 0)) {
    throw BenchdnnError(fmt::format(
        "--bia_mask={} is no mask; use the sum of 1 for rows and 2 for columns", OneLine(text)));
  }
  return *mask;
}

}  // namespace

TraceRow MatmulRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 2, 3);
  const std::vector<std::string> types = TypesOf(choice, 3).types;
  const int rank = Rank(shapes[0]);
  TraceRow row = RowWith(choice, rank);
  row.problem = ShapesText(shapes);
  const std::string& bias = At(choice, "bia_dt");
  row.tensors = {TensorOf("src", types[0], At(choice, "stag"), rank),
                 TensorOf("wei", types[1], At(choice, "wtag"), rank),
                 TensorOf("bia", ParseTypes(bias, 1).front(), "abx", rank),
                 TensorOf("dst", types[2], At(choice, "dtag"), rank)};
  row.tensors[2].mask = BiasMask(MaskOf(At(choice, "bia_mask")), static_cast<std::size_t>(rank));
  AddUnsupported(choice, {"runtime_dims_masks", "strides", "encoding"}, row);
  return row;
}

TraceRow EltwiseRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 1, 1);
  const std::string algorithm = LongEltwiseName(At(choice, "alg"));
  if (algorithm.empty()) {
    throw BenchdnnError(
        fmt::format("--alg={} is no element-wise function of benchdnn, such as relu",
                    OneLine(At(choice, "alg"))));
  }
  TraceRow row = RowWith(choice, Rank(shapes[0]));
  row.problem = ShapesText(shapes);
  row.auxiliary =
      fmt::format("alg:{} alpha:{} beta:{}", algorithm, NumberText("alpha", At(choice, "alpha")),
                  NumberText("beta", At(choice, "beta")));
  AddDataAndDiff(choice, Rank(shapes[0]), row);
  return row;
}

TraceRow SoftmaxRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 1, 1);
  const std::string algorithm = LowerCase(At(choice, "alg"));
  TraceRow row = RowWith(choice, Rank(shapes[0]));
  if (algorithm != "softmax" && algorithm != "softmax_accurate" && algorithm != "logsoftmax" &&
      algorithm != "softmax_log") {
    throw BenchdnnError(
        fmt::format("--alg={} is unknown; use SOFTMAX or LOGSOFTMAX", OneLine(algorithm)));
  }
  row.problem = ShapesText(shapes);
  row.auxiliary =
      fmt::format("alg:{} axis:{}",
                  algorithm.find("log") == std::string::npos ? "softmax_accurate" : "softmax_log",
                  NumberText("axis", At(choice, "axis")));
  row.prop_kind = ParseDirection(At(choice, "dir")).prop_kind;
  const int rank = Rank(shapes[0]);
  row.tensors = {
      TensorOf("src", ParseTypes(At(choice, "sdt"), 1).front(), At(choice, "stag"), rank),
      TensorOf("dst", ParseTypes(At(choice, "ddt"), 1).front(), At(choice, "dtag"), rank)};
  return row;
}

TraceRow ReorderRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 1, 1);
  const int rank = Rank(shapes[0]);
  TraceRow row = RowWith(choice, rank);
  row.problem = ShapesText(shapes);
  row.tensors = {
      TensorOf("src", ParseTypes(At(choice, "sdt"), 1).front(), At(choice, "stag"), rank),
      TensorOf("dst", ParseTypes(At(choice, "ddt"), 1).front(), At(choice, "dtag"), rank)};
  row.tensors[1].extra = OneLine(At(choice, "oflag"));
  return row;
}

TraceRow SumRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 1, 1);
  const std::vector<std::string> types = ParseTypes(At(choice, "sdt"), 0);
  const auto tags = TagsOf(At(choice, "stag"), types.size());
  const int rank = Rank(shapes[0]);
  TraceRow row = RowWith(choice, rank);
  row.problem = ShapesText(shapes);
  for (std::size_t i = 0; i < types.size(); ++i) {
    row.tensors.push_back(TensorOf("src", types[i], tags[i], rank));
  }
  row.tensors.push_back(ResultTensor(choice, tags.front(), rank));
  const std::string& scales = At(choice, "scales");
  const std::vector<std::string_view> each = SplitText(scales, ":");
  if (!std::all_of(each.begin(), each.end(), [](std::string_view one) { return one == "1"; })) {
    row.attributes +=
        fmt::format("{}scales:{}", row.attributes.empty() ? "" : " ", OneLine(scales));
  }
  return row;
}

TraceRow BinaryRow(const BenchdnnChoice& choice, std::string_view text) {
  auto shapes = ShapesOf(choice, text, 2, 2);
  // The second source may have fewer dimensions: the missing ones are 1.
  const std::size_t rank = std::max(shapes[0].size(), shapes[1].size());
  for (auto& shape : shapes) shape.resize(rank, 1);
  const std::vector<std::string> types = ParseTypes(At(choice, "sdt"), 2);
  const auto tags = TagsOf(At(choice, "stag"), 2);
  TraceRow row = RowWith(choice, static_cast<int>(rank));
  row.problem = ShapesText(shapes);
  row.auxiliary = "alg:" + BinaryAlgorithm(At(choice, "alg"));
  for (std::size_t i = 0; i < 2; ++i) {
    row.tensors.push_back(TensorOf("src", types[i], tags[i], static_cast<int>(rank)));
  }
  row.tensors.push_back(ResultTensor(choice, tags.front(), static_cast<int>(rank)));
  return row;
}

TraceRow ConcatRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 2, ~std::size_t{0});
  const auto tags = TagsOf(At(choice, "stag"), shapes.size());
  const std::string type = ParseTypes(At(choice, "sdt"), 1).front();
  TraceRow row = RowWith(choice, Rank(shapes[0]));
  row.problem = ShapesText(shapes);
  row.auxiliary = "axis:" + NumberText("axis", At(choice, "axis"));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    row.tensors.push_back(TensorOf("src", type, tags[i], Rank(shapes[i])));
  }
  row.tensors.push_back(ResultTensor(choice, tags.front(), Rank(shapes[0])));
  return row;
}

TraceRow ReductionRow(const BenchdnnChoice& choice, std::string_view text) {
  const auto shapes = ShapesOf(choice, text, 2, 2);
  TraceRow row = RowWith(choice, Rank(shapes[0]));
  row.problem = ShapesText(shapes);
  row.auxiliary =
      fmt::format("alg:{} p:{} eps:{}", ReductionAlgorithm(At(choice, "alg")),
                  NumberText("p", At(choice, "p")), NumberText("eps", At(choice, "eps")));
  row.tensors = {TensorOf("src", ParseTypes(At(choice, "sdt"), 1).front(), At(choice, "stag"),
                          Rank(shapes[0])),
                 TensorOf("dst", ParseTypes(At(choice, "ddt"), 1).front(), At(choice, "dtag"),
                          Rank(shapes[1]))};
  return row;
}

}  // namespace topdnn
