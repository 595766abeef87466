#include "bench/benchdnn/benchdnn_rows.h"

#include <fmt/format.h>

#include <optional>

#include "bench/benchdnn/benchdnn_descriptor.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

constexpr std::string_view kAttributes[] = {"attr-post-ops",      "attr-scales",
                                            "attr-oscale",        "attr-zero-points",
                                            "attr-fpmath",        "attr-acc-mode",
                                            "attr-deterministic", "attr-rounding-mode",
                                            "attr-dropout",       "attr-precomputed-reductions"};

// As the log of oneDNN 3 writes them.
std::string AttributesOf(const BenchdnnChoice& choice, int rank) {
  std::string text;
  const auto add = [&text](const std::string& one) {
    if (one.empty()) return;
    if (!text.empty()) text += " ";
    text += one;
  };
  add(PostOpsAttribute(At(choice, "attr-post-ops"), rank));
  for (const std::string_view name : kAttributes) {
    const std::string& value = At(choice, name);
    if (name == "attr-post-ops" || value.empty() || value == "strict" || value == "false") continue;
    add(fmt::format("{}:{}", name, OneLine(value)));
  }
  return text;
}

}  // namespace

std::span<const std::string_view> BenchdnnAttributes() { return kAttributes; }

const std::string& At(const BenchdnnChoice& choice, std::string_view name) {
  return choice.find(name)->second;
}

std::int64_t MinibatchOf(const BenchdnnChoice& choice) {
  const std::optional<std::int64_t> mb = ParseExtent(At(choice, "mb"));
  if (!mb) throw BenchdnnError(fmt::format("--mb={} is not a number", OneLine(At(choice, "mb"))));
  return *mb;
}

TracedTensor TensorOf(std::string_view name, std::string_view type, std::string_view tag,
                      int rank) {
  TracedTensor tensor;
  tensor.name = name;
  tensor.type = type;
  if (!tensor.present()) return tensor;
  tensor.layout = LayoutTag(tag, rank);
  tensor.format_kind = "blocked";
  if (tensor.layout == "any" || tensor.layout == "undef") {
    tensor.format_kind = "any";
    tensor.layout.clear();
  }
  return tensor;
}

TraceRow RowWith(const BenchdnnChoice& choice, int rank) {
  TraceRow row;
  row.prop_kind = "undef";
  row.attributes = AttributesOf(choice, rank);
  return row;
}

BenchdnnConfiguration TypesOf(const BenchdnnChoice& choice, std::size_t count) {
  if (!At(choice, "cfg").empty()) return ParseConfiguration(At(choice, "cfg"), count);
  return {ParseTypes(At(choice, "dt"), count), false};
}

void AddUnsupported(const BenchdnnChoice& choice, std::initializer_list<std::string_view> names,
                    TraceRow& row) {
  for (const std::string_view name : names) {
    const std::string& value = At(choice, name);
    if (value.find_first_not_of("0:") == std::string::npos) continue;
    if (!row.attributes.empty()) row.attributes += " ";
    row.attributes += fmt::format("{}:{}", name, OneLine(value));
  }
}

void AddDataAndDiff(const BenchdnnChoice& choice, int rank, TraceRow& row) {
  row.prop_kind = ParseDirection(At(choice, "dir")).prop_kind;
  const std::string type = ParseTypes(At(choice, "dt"), 1).front();
  row.tensors = {TensorOf("data", type, At(choice, "tag"), rank)};
  if (row.prop_kind.starts_with("backward")) {
    row.tensors.push_back(TensorOf("diff", type, At(choice, "tag"), rank));
  }
}

}  // namespace topdnn
