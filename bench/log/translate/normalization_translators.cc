// Batch normalization, local response normalization and softmax of a trace.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "bench/log/translate/traced_problem.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/lrn/lrn.h"
#include "kernels/softmax/softmax.h"

namespace topdnn {

namespace {

// The shape of "mb2ic64ih56iw56".
Shape ImageShape(const RowReader& row) {
  std::vector<std::int64_t> extents = {row.Number("mb"), row.Number("ic")};
  for (const char* const name : {"id", "ih", "iw"}) {
    if (row.Has(name)) extents.push_back(row.Number(name));
  }
  return Shape(std::move(extents));
}

// A log has no epsilon, which does not change the time: the default stands for it.
TracedProblem BatchNormOf(const RowReader& row) {
  bool fused_relu = false;
  for (const TracedPostOp& op : row.PostOps()) {
    if (fused_relu || op.ReluBound() != 0.0F) {
      throw NotTranslated(fmt::format("topdnn's batch normalization has no post-op {}", op.name));
    }
    fused_relu = true;
  }
  const std::string flags = row.Flags("GSCHRA");
  const auto has = [&flags](char flag) { return flags.find(flag) != std::string::npos; };
  const bool given = has('G');
  const bool forward = row.pass() == Pass::kForward;
  // (oneDNN 2: S is scale and shift in one tensor; oneDNN 3: C is scale, H is shift)
  if (!(has('S') || (has('C') && has('H')))) {
    throw NotTranslated("topdnn's batch normalization has a scale and a shift");
  }
  if (has('A')) throw NotTranslated("topdnn's batch normalization fuses no addition");
  if (forward && !given && !row.training()) {
    throw NotTranslated("topdnn's inference does not compute the statistics of the batch");
  }
  if (!forward && (given || row.row().prop_kind == "backward_data")) {
    throw NotTranslated("topdnn's backward pass computes all gradients, of the batch's statistics");
  }
  TracedProblem problem;
  problem.op = std::make_shared<BatchNormOp>(ImageShape(row), BatchNormOp::kDefaultEpsilon,
                                             has('R') || fused_relu);
  problem.execution = {row.pass(), forward ? !given : true,
                       row.TypeOf(row.Tensor({"data", "src"}))};
  if (!problem.op->Has(problem.execution)) return problem;
  SettleNormalization(row, problem);
  return problem;
}

TracedProblem LrnOf(const RowReader& row) {
  row.RefuseAttributes();
  if (row.Algorithm() != "lrn_across_channels") {
    throw NotTranslated(fmt::format("topdnn has no LRN of the kind {}", row.Algorithm()));
  }
  LrnSettings settings;
  settings.size = row.Number("ls");
  settings.alpha = static_cast<float>(row.RealOr("alpha", settings.alpha));
  settings.beta = static_cast<float>(row.RealOr("beta", settings.beta));
  settings.k = static_cast<float>(row.RealOr("k", settings.k));
  TracedProblem problem;
  problem.op = std::make_shared<LrnOp>(ImageShape(row), settings);
  problem.execution = {row.pass(), row.training(), row.TypeOf(row.Tensor({"data", "src"}))};
  if (!problem.op->Has(problem.execution)) return problem;
  SettleNormalization(row, problem);
  return problem;
}

// Rows of classes: the axis must be the last one of a row-major tensor.
TracedProblem SoftmaxOf(const RowReader& row) {
  row.RefuseAttributes();
  const std::string algorithm = row.Algorithm();
  if (!algorithm.empty() && algorithm != "softmax_accurate" && algorithm != "softmax") {
    throw NotTranslated(fmt::format("topdnn has no softmax of the kind {}", algorithm));
  }
  const Shape shape = row.Shapes().front();
  // MKL-DNN names no axis. Frameworks normalize the rows of a matrix.
  const std::int64_t axis = shape.rank() == 2 ? row.NumberOr("axis", 1) : row.Number("axis");
  const TracedTensor& src = row.Tensor({"src", "data", "dst"});
  for (const TracedTensor& tensor : row.row().tensors) {
    if (!tensor.present() || tensor.format_kind == "any") continue;
    if (!row.LayoutOf(tensor).IsPlainFor(shape)) {
      throw NotTranslated(
          fmt::format("topdnn's softmax is row-major, not {} in {}", tensor.name, tensor.layout));
    }
    if (tensor.type != src.type) {
      throw NotTranslated(fmt::format("topdnn's softmax has tensors of one type, not {} in {}",
                                      tensor.name, tensor.type));
    }
  }
  if (axis != shape.rank() - 1) {
    throw NotTranslated(fmt::format("topdnn's softmax is along the last axis, not {}", axis));
  }
  const std::int64_t classes = shape[shape.rank() - 1];
  TracedProblem problem;
  problem.op = std::make_shared<SoftmaxOp>(shape.elements() / classes, classes);
  problem.execution = {row.pass(), row.training(), row.TypeOf(src)};
  if (!problem.op->Has(problem.execution)) return problem;
  for (const Operand& operand : problem.op->Operands(problem.execution)) {
    if (operand.type != problem.execution.type) continue;
    problem.layouts[operand.arg] = Layout::Plain(operand.shape.rank());
  }
  return problem;
}

const TranslatorRegistration kBatchNorm("batch_normalization", BatchNormOf);
const TranslatorRegistration kLrn("lrn", LrnOf);
const TranslatorRegistration kSoftmax("softmax", SoftmaxOf);
const TranslatorRegistration kSoftmaxV2("softmax_v2", SoftmaxOf);

}  // namespace

}  // namespace topdnn
