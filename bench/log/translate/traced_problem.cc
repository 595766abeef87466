#include "bench/log/translate/traced_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "bench/log/read/function_names.h"
#include "bench/log/translate/logged_translator.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"
#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

// By primitive.
constinit Registrations<std::string, Translator> translators("translator of oneDNN's primitive");

// Larger numbers of a log are not extents. Sums and products of two of them fit 64 bits.
constexpr double kMostNumber = 1 << 30;

// Reads "mb2_ic3oc64_ih224": names followed by their numbers, with "_" between some. Stops where
// the text is not of this form.
void ReadNumbers(std::string_view text, std::map<std::string, double>& numbers) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '_') {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) ++at;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (at == begin || error != std::errc() || !std::isfinite(value)) return;
    numbers.emplace(text.substr(begin, at - begin), value);
    at = static_cast<std::size_t>(end - text.data());
  }
}

// Reads "alg:lrn_across_channels axis:1 alpha:0.1": the numbers by name.
void ReadAuxiliary(std::string_view text, std::map<std::string, double>& numbers) {
  for (const std::string_view word : SplitText(text, " ")) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) continue;
    const auto value = ParseNumber<double>(word.substr(colon + 1));
    if (value && std::isfinite(*value)) numbers.emplace(word.substr(0, colon), *value);
  }
}

Shape ParseShape(std::string_view text) {
  std::vector<std::int64_t> extents;
  const char* at = text.data();
  const char* const last = text.data() + text.size();
  for (;;) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(at, last, extent);
    if (error != std::errc() || extent < 1 || static_cast<double>(extent) > kMostNumber) break;
    extents.push_back(extent);
    if (end == last) return Shape(std::move(extents));
    if (*end != 'x') break;
    at = end + 1;
  }
  throw NotTranslated(fmt::format("'{}' is not a shape with fixed extents", text));
}

std::vector<double> ParsePostOpNumbers(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto value = ParseNumber<double>(one);
    if (!value) throw NotTranslated(fmt::format("post-op with the argument '{}'", one));
    numbers.push_back(*value);
  }
  return numbers;
}

// The operations of which topdnn defines the result in whole numbers. Other operations round it in
// a way that is not known.
constexpr std::string_view kWholeNumberKinds[] = {
    "conv", "inner_product", "gemm",        "add",     "concat",   "pool",
    "relu", "bounded_relu",  "interpolate", "reorder", "primitive"};

bool IsWhole(DataType type) { return type == DataType::kU8 || type == DataType::kS8; }

// Why the problem does not exist; empty if it does.
std::string Missing(const TracedProblem& problem) {
  const Op& op = *problem.op;
  const auto* const end = std::end(kWholeNumberKinds);
  const bool whole = std::find(std::begin(kWholeNumberKinds), end, op.kind()) != end;
  if (op.Has(problem.execution) && (whole || !IsWhole(problem.execution.type))) return {};
  return fmt::format("topdnn's {} has no pass {} in {}", op.kind(), NameOf(problem.execution.pass),
                     NameOf(problem.execution.type));
}

}  // namespace

std::optional<Pass> PassOfPropKind(std::string_view prop_kind) {
  if (prop_kind == "undef" || prop_kind.empty() || prop_kind.starts_with("forward")) {
    return Pass::kForward;
  }
  // (all gradients of a batch normalization are one primitive)
  if (prop_kind == "backward_data" || prop_kind == "backward") return Pass::kBackwardData;
  if (prop_kind == "backward_weights") return Pass::kBackwardWeights;
  return std::nullopt;
}

RowReader::RowReader(const TraceRow& row) : row_(row) {
  const std::optional<Pass> pass = PassOfPropKind(row.prop_kind);
  if (!pass) throw NotTranslated(fmt::format("propagation {} is not known", row.prop_kind));
  pass_ = *pass;
  training_ = row.prop_kind != "forward_inference" && row.prop_kind != "forward_scoring";
  ReadNumbers(row.problem, numbers_);
  ReadAuxiliary(row.auxiliary, numbers_);
}

double RowReader::Real(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    throw NotTranslated(fmt::format("the problem '{}' has no number '{}'", row_.problem, name));
  }
  return found->second;
}

double RowReader::RealOr(const std::string& name, double otherwise) const {
  return Has(name) ? Real(name) : otherwise;
}

std::int64_t RowReader::Number(const std::string& name) const {
  const double value = Real(name);
  if (std::floor(value) != value || value < 0 || value > kMostNumber) {
    throw NotTranslated(fmt::format("{} of the problem '{}' is out of range", name, row_.problem));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t RowReader::NumberOr(const std::string& name, std::int64_t otherwise) const {
  return Has(name) ? Number(name) : otherwise;
}

std::vector<Shape> RowReader::Shapes() const {
  std::vector<Shape> shapes;
  for (const std::string_view part : SplitText(row_.problem, ":")) {
    shapes.push_back(ParseShape(part));
  }
  return shapes;
}

std::string RowReader::Word(std::string_view name) const {
  for (const std::string_view word : SplitText(row_.auxiliary, " ")) {
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == ':') {
      return std::string(word.substr(name.size() + 1));
    }
  }
  return {};
}

std::string RowReader::Flags(std::string_view known) const {
  std::string flags = Word("flags");
  if (const std::size_t at = flags.find_first_not_of(known); at != std::string::npos) {
    throw NotTranslated(fmt::format("topdnn's {} has no flag {}{}", row_.primitive, flags[at],
                                    flags[at] == 'M' ? " (by the root mean square)" : ""));
  }
  return flags;
}

const TracedTensor& RowReader::Tensor(const std::vector<std::string_view>& names) const {
  for (const std::string_view name : names) {
    if (HasTensor(name)) return Tensor(name, 0);
  }
  throw NotTranslated(fmt::format("the line describes no tensor {}", names.front()));
}

const TracedTensor& RowReader::Tensor(std::string_view name, std::size_t i) const {
  for (const TracedTensor& tensor : row_.tensors) {
    if (tensor.name != name || !tensor.present()) continue;
    if (i-- == 0) return tensor;
  }
  throw NotTranslated(fmt::format("the line describes no further tensor {}", name));
}

bool RowReader::HasTensor(std::string_view name) const {
  return std::any_of(row_.tensors.begin(), row_.tensors.end(), [&](const TracedTensor& tensor) {
    return tensor.name == name && tensor.present();
  });
}

DataType RowReader::TypeOf(const TracedTensor& tensor) const {
  const std::optional<DataType> type = ParseDataType(tensor.type);
  if (!type) throw NotTranslated(fmt::format("topdnn has no kernels in {}", tensor.type));
  return *type;
}

Layout RowReader::LayoutOf(const TracedTensor& tensor) const {
  if (!tensor.strides.empty()) {
    throw NotTranslated(fmt::format("{} has gaps (strides {})", tensor.name, tensor.strides));
  }
  if (!tensor.extra.empty()) {
    throw NotTranslated(fmt::format("{} in {} has the additional data {}", tensor.name,
                                    tensor.layout, tensor.extra));
  }
  const std::optional<Layout> layout = Layout::Parse(tensor.layout);
  if (tensor.format_kind != "blocked" || !layout) {
    throw NotTranslated(fmt::format("{} in the format {}", tensor.name,
                                    tensor.layout.empty() ? tensor.format_kind : tensor.layout));
  }
  return *layout;
}

std::optional<float> TracedPostOp::ReluBound() const {
  // (an element-wise function has alpha, beta, and the scale of its result)
  const double alpha = NumberOr(0, 0), beta = NumberOr(1, 0);
  if (NumberOr(2, 1) != 1) return std::nullopt;
  if (name == "eltwise_relu" && alpha == 0) return 0.0F;
  if (name == "eltwise_bounded_relu" && alpha > 0) return static_cast<float>(alpha);
  const bool clips = name == "eltwise_clip" || name == "eltwise_clip_v2";
  if (clips && alpha == 0 && beta > 0) return static_cast<float>(beta);
  return std::nullopt;
}

std::optional<TracedFunction> FunctionOf(std::string_view name, float alpha, float beta) {
  const UnaryFunction* const function = FindUnaryFunction(OwnName(UnaryFunctionNames(), name));
  // oneDNN 2 ignores alpha of soft_relu, and writes 0; otherwise the function is
  // log(1 + exp(alpha * x)) / alpha.
  const bool scaled = name.starts_with("eltwise_soft_relu") && alpha != 1 &&
                      (alpha != 0 || name != "eltwise_soft_relu");
  if (function == nullptr || scaled) return std::nullopt;
  if (function->name == "hard_swish") {
    // oneDNN 2 has only these constants, and writes 0. A log has six digits of a number.
    constexpr float kRounding = 1e-6F;
    const bool constant = alpha == 0 && beta == 0;
    if (constant || std::abs(alpha - function->alpha) < kRounding) alpha = function->alpha;
    if (constant) beta = function->beta;
  }
  return TracedFunction{function, function->parameters > 0 ? alpha : 0,
                        function->parameters > 1 ? beta : 0};
}

const UnaryFunction* TracedPostOp::Function() const {
  const auto traced =
      FunctionOf(name, static_cast<float>(NumberOr(0, 0)), static_cast<float>(NumberOr(1, 0)));
  const bool has_defaults =
      traced && traced->alpha == traced->function->alpha && traced->beta == traced->function->beta;
  return has_defaults && NumberOr(2, 1) == 1 ? traced->function : nullptr;
}

std::vector<TracedPostOp> RowReader::PostOps() const {
  std::vector<TracedPostOp> post_ops;
  std::string_view rest = row_.attributes;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    constexpr std::string_view kPostOps = "attr-post-ops:";
    if (!word.starts_with(kPostOps)) {
      throw NotTranslated(fmt::format("topdnn's kernels have no {}", word));
    }
    word.remove_prefix(kPostOps.size());
    while (!word.empty()) {
      const std::string_view one = word.substr(0, word.find('+'));
      word.remove_prefix(std::min(word.size(), one.size() + 1));
      const std::size_t colon = std::min(one.find(':'), one.size());
      TracedPostOp post_op{std::string(one.substr(0, colon)), {}};
      if (colon < one.size()) {
        try {
          post_op.numbers = ParsePostOpNumbers(one.substr(colon + 1));
        } catch (const NotTranslated&) {
          throw NotTranslated(fmt::format("topdnn's kernels have no post-op {}", one));
        }
      }
      post_ops.push_back(std::move(post_op));
    }
  }
  return post_ops;
}

void RowReader::RefuseAttributes() const {
  if (!row_.attributes.empty()) {
    throw NotTranslated(fmt::format("topdnn's kernels have no {}", row_.attributes));
  }
}

std::size_t DimensionsOf(const TracedTensor& tensor) {
  const auto end = std::find_if(tensor.layout.begin(), tensor.layout.end(),
                                [](unsigned char c) { return std::isalpha(c) == 0; });
  return static_cast<std::size_t>(end - tensor.layout.begin());
}

void Settle(const RowReader& reader, Arg arg, const TracedTensor& tensor, TracedProblem& problem,
            bool may_choose) {
  const std::optional<Operand> operand = problem.op->Find(problem.execution, arg);
  if (!operand) {
    throw NotTranslated(
        fmt::format("topdnn's {} has no {} in this pass", problem.op->kind(), NameOf(arg)));
  }
  const DataType type = reader.TypeOf(tensor);
  if (type != operand->type) {
    throw NotTranslated(fmt::format("{} is {}, and topdnn's {} in {} has {}", tensor.name,
                                    tensor.type, problem.op->kind(), NameOf(problem.execution.type),
                                    NameOf(operand->type)));
  }
  if (tensor.format_kind == "any" || (may_choose && tensor.format_kind != "blocked")) return;
  const Layout layout = reader.LayoutOf(tensor);
  if (DimensionsOf(tensor) != static_cast<std::size_t>(operand->shape.rank())) {
    throw NotTranslated(fmt::format("{} in {}: topdnn's has {} dimensions", tensor.name,
                                    tensor.layout, operand->shape.rank()));
  }
  problem.layouts[arg] = layout;
}

void SettleSrcAndDst(const RowReader& reader, TracedProblem& problem) {
  const bool forward = reader.pass() == Pass::kForward;
  Settle(reader, forward ? Arg::kSrc : Arg::kDiffSrc, reader.Tensor({"src", "diff_src"}), problem);
  Settle(reader, forward ? Arg::kDst : Arg::kDiffDst, reader.Tensor({"dst", "diff_dst"}), problem);
}

void SettleNormalization(const RowReader& reader, TracedProblem& problem) {
  const TracedTensor& src = reader.Tensor({"data", "src"});
  Settle(reader, Arg::kSrc, src, problem);
  if (reader.pass() == Pass::kForward) {
    Settle(reader, Arg::kDst, reader.HasTensor("dst") ? reader.Tensor({"dst"}) : src, problem);
    return;
  }
  const TracedTensor& diff = reader.Tensor({"diff", "diff_src"});
  Settle(reader, Arg::kDiffSrc, diff, problem);
  Settle(reader, Arg::kDiffDst, reader.HasTensor("diff_dst") ? reader.Tensor({"diff_dst"}) : diff,
         problem);
}

void SettleProduct(const RowReader& reader, TracedProblem& problem, bool may_choose) {
  SettleProduct(reader, reader.Tensor({"wei", "diff_wei"}), problem, may_choose);
}

void SettleProduct(const RowReader& reader, const TracedTensor& weights, TracedProblem& problem,
                   bool may_choose) {
  const Pass pass = reader.pass();
  const bool forward = pass == Pass::kForward;
  Settle(reader, pass == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc,
         reader.Tensor({"src", "diff_src"}), problem);
  Settle(reader, pass == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights, weights,
         problem, may_choose);
  Settle(reader, forward ? Arg::kDst : Arg::kDiffDst, reader.Tensor({"dst", "diff_dst"}), problem);
  if (reader.HasTensor("bia") && pass != Pass::kBackwardData) {
    Settle(reader, forward ? Arg::kBias : Arg::kDiffBias, reader.Tensor({"bia"}), problem);
  }
}

TranslatorRegistration::TranslatorRegistration(std::string_view primitive, Translator translator) {
  translators.Add(std::string(primitive), translator);
}

namespace {

// What `translate` makes of the row, or why it makes nothing.
std::variant<TracedProblem, NoProblem> Translated(const TraceRow& row, Translator translate) {
  try {
    TracedProblem problem = translate(RowReader(row));
    if (std::string reason = Missing(problem); !reason.empty()) return NoProblem{std::move(reason)};
    return problem;
  } catch (const NotTranslated& error) {
    return NoProblem{error.what()};
  } catch (const std::invalid_argument& error) {  // impossible extents
    return NoProblem{error.what()};
  } catch (const std::overflow_error& error) {
    return NoProblem{error.what()};
  }
}

}  // namespace

std::variant<TracedProblem, NoProblem> ProblemOf(const TraceRow& row) {
  if (row.engine != "cpu") return NoProblem{fmt::format("it ran on the engine {}", row.engine)};
  const Translator* translator = translators.Find(row.primitive);
  std::variant<TracedProblem, NoProblem> problem =
      translator == nullptr ? NoProblem{fmt::format("topdnn has no kernels for {}", row.primitive)}
                            : Translated(row, *translator);
  if (std::holds_alternative<TracedProblem>(problem)) return problem;
  std::variant<TracedProblem, NoProblem> logged = Translated(row, LoggedProblemOf);
  if (auto* found = std::get_if<TracedProblem>(&logged)) {
    found->logged_reason = std::get<NoProblem>(problem).reason;
    return logged;
  }
  // (what is wrong with a row is better than that topdnn has no such operation)
  return translator == nullptr && !row.tensors.empty() ? logged : problem;
}

}  // namespace topdnn
