#include "networks/onnx/import/input_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

using OpenShape = std::vector<std::optional<std::int64_t>>;

bool IsInputType(std::int64_t type) {
  constexpr std::int64_t kTypes[] = {kOnnxFloat, kOnnxFloat16, kOnnxBool, kOnnxUint8,
                                     kOnnxInt8,  kOnnxInt32,   kOnnxInt64};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

class InputShapes {
 public:
  InputShapes(const std::vector<const ModelInput*>& inputs, const ImportOptions& options)
      : inputs_(inputs), options_(options) {}

  std::vector<Shape> Settle() {
    std::vector<std::optional<Shape>> given;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      CheckType(*inputs_[i]);
      given.push_back(Given(i));
      if (given.back()) NoteSymbols(*inputs_[i], *given.back());
    }
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      OpenShape extents = OwnExtents(*inputs_[i], given[i]);
      extents[0] = i == 0 ? Batch(given[0]) : FirstExtent(*inputs_[i], given[i], shapes[0][0]);
      shapes.push_back(Closed(*inputs_[i], extents, given[i]));
    }
    if (options_.open_size && !size_settled_) {
      throw OnnxError(What(*inputs_[0]) + ": its height and width are fixed; leave --size out");
    }
    return shapes;
  }

 private:
  static std::string What(const ModelInput& input) {
    return fmt::format("input {}", Printable(input.name));
  }

  static void CheckType(const ModelInput& input) {
    if (input.type == kOnnxDouble) {
      throw OnnxError(What(input) +
                      ": of double, and topdnn computes in f32; export the model in float");
    }
    if (!IsInputType(input.type)) {
      throw OnnxError(
          fmt::format("{}: of {}; float, float16, bool, uint8, int8, int32 and int64 are supported",
                      What(input), NameOfOnnxType(input.type)));
    }
  }

  std::optional<Shape> Given(std::size_t i) const {
    const auto found = options_.shapes.find(inputs_[i]->name);
    if (found != options_.shapes.end()) return found->second;
    if (options_.shapes_of_all) {
      throw OnnxError(fmt::format("{} is needed: give --input {}=FILE.npy", What(*inputs_[i]),
                                  Printable(inputs_[i]->name)));
    }
    return i == 0 ? options_.input : std::nullopt;
  }

  // An open extent with a name is the same in all inputs. The first extent of an input is left out:
  // it is the batch.
  void NoteSymbols(const ModelInput& input, const Shape& given) {
    if (static_cast<int>(input.symbols.size()) != given.rank()) return;
    for (std::size_t d = 1; d < input.symbols.size(); ++d) {
      if (!input.symbols[d].empty()) symbols_.emplace(input.symbols[d], given[static_cast<int>(d)]);
    }
  }

  static OpenShape OwnExtents(const ModelInput& input, const std::optional<Shape>& given) {
    constexpr std::size_t kMaxDimensions = 6;
    OpenShape extents = input.dims;
    if (!input.has_shape && given) extents.resize(static_cast<std::size_t>(given->rank()));
    if (extents.empty() || extents.size() > kMaxDimensions) {
      throw OnnxError(fmt::format("{}: its shape must have 1 to 6 dimensions{}", What(input),
                                  input.has_shape ? "" : "; " + ShapeOption(input)));
    }
    if (given && given->rank() != static_cast<int>(extents.size())) {
      throw OnnxError(fmt::format("{} has {} dimensions, not {}", What(input), extents.size(),
                                  given->ToString()));
    }
    return extents;
  }

  std::int64_t Batch(const std::optional<Shape>& given) const {
    if (given && options_.batch && (*given)[0] != *options_.batch) {
      throw OnnxError(fmt::format("{} is given as {}, and the batch as {}: give one of them",
                                  What(*inputs_[0]), given->ToString(), *options_.batch));
    }
    if (options_.batch) return *options_.batch;
    if (given) return (*given)[0];
    return OwnBatch().value_or(options_.open_batch);
  }

  std::optional<std::int64_t> OwnBatch() const {
    return inputs_[0]->dims.empty() ? std::nullopt : inputs_[0]->dims[0];
  }

  std::int64_t FirstExtent(const ModelInput& input, const std::optional<Shape>& given,
                           std::int64_t batch) const {
    if (given) return (*given)[0];
    const std::optional<std::int64_t> own = input.dims.front();
    return !own || (own == OwnBatch() && HasRows(input)) ? batch : *own;
  }

  // Whether the input may have a row for each image. (1, 1) beside images is one number for all.
  bool HasRows(const ModelInput& input) const {
    const auto is_one = [](const std::optional<std::int64_t>& extent) { return extent == 1; };
    return input.dims.size() == inputs_[0]->dims.size() ||
           !std::all_of(input.dims.begin() + 1, input.dims.end(), is_one);
  }

  Shape Closed(const ModelInput& input, OpenShape extents, const std::optional<Shape>& given) {
    std::vector<std::int64_t> closed;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      std::optional<std::int64_t>& extent = extents[d];
      if (!extent && given) extent = (*given)[static_cast<int>(d)];
      if (!extent && d >= 2 && options_.open_size) {
        extent = options_.open_size;
        size_settled_ = true;
      }
      if (!extent && d < input.symbols.size()) {
        if (const auto symbol = symbols_.find(input.symbols[d]); symbol != symbols_.end()) {
          extent = symbol->second;
        }
      }
      if (!extent) {
        throw OnnxError(fmt::format("{}: dimension {} is open; {}{}", What(input), d,
                                    d >= 2 ? "give the height and width by --size, or " : "",
                                    ShapeOption(input)));
      }
      if (*extent < 1) throw OnnxError(fmt::format("{}: invalid extent {}", What(input), *extent));
      closed.push_back(*extent);
    }
    Shape shape(std::move(closed));
    if (given && shape != *given) {
      throw OnnxError(
          fmt::format("{} is {}, not {}", What(input), shape.ToString(), given->ToString()));
    }
    CheckMemory(input, shape);
    return shape;
  }

  void CheckMemory(const ModelInput& input, const Shape& shape) const {
    const auto elements = static_cast<std::size_t>(shape.elements());
    if (options_.memory_limit == 0 || elements <= options_.memory_limit / sizeof(float)) return;
    throw OnnxError(
        fmt::format("{} of {} does not fit the memory that may be used; give a smaller shape",
                    What(input), shape.ToString()));
  }

  // "give its shape by --input-shape x=1x3xHxW": what the file fixes, and letters for the rest.
  static std::string ShapeOption(const ModelInput& input) {
    const std::vector<std::string> letters = {"N", "C", "H", "W"};
    std::string shape;
    for (std::size_t d = 0; d < input.dims.size(); ++d) {
      const std::string open = d < letters.size() ? letters[d] : "1";
      shape += (d == 0 ? "" : "x") + (input.dims[d] ? std::to_string(*input.dims[d]) : open);
    }
    if (input.dims.empty()) shape = "NxCxHxW";
    return fmt::format("give its shape by --input-shape {}={}", Printable(input.name), shape);
  }

  const std::vector<const ModelInput*>& inputs_;
  const ImportOptions& options_;
  std::map<std::string, std::int64_t> symbols_;
  bool size_settled_ = false;
};

}  // namespace

ImportOptions WithBatch(ImportOptions options, std::int64_t from, std::int64_t to) {
  const auto change = [&](Shape& shape) {
    std::vector<std::int64_t> extents = shape.extents();
    if (extents.empty() || extents[0] != from) return;
    extents[0] = to;
    shape = Shape(std::move(extents));
  };
  options.batch = to;
  if (options.input) change(*options.input);
  for (auto& [name, shape] : options.shapes) change(shape);
  return options;
}

void CheckGivenNames(const std::vector<ModelInput>& inputs, const ImportOptions& options) {
  for (const auto& given : options.shapes) {
    const std::string& name = given.first;
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const ModelInput& input) { return input.name == name; });
    if (known) continue;
    std::vector<std::string> names;
    names.reserve(inputs.size());
    for (const ModelInput& input : inputs) names.push_back(Printable(input.name));
    throw OnnxError(fmt::format("it has no input {}: {} named {}", Printable(name),
                                names.size() == 1 ? "its input is" : "its inputs are",
                                fmt::join(names, ", ")));
  }
}

std::vector<Shape> SettleInputShapes(const std::vector<const ModelInput*>& inputs,
                                     const ImportOptions& options) {
  return InputShapes(inputs, options).Settle();
}

}  // namespace topdnn
