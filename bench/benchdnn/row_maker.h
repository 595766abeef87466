// A row of a log while it is made from a problem of topdnn.

#ifndef TOPDNN_BENCH_BENCHDNN_ROW_MAKER_H_
#define TOPDNN_BENCH_BENCHDNN_ROW_MAKER_H_

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/log/read/trace.h"
#include "bench/log/translate/traced_problem.h"

namespace topdnn {

class RowMaker {
 public:
  explicit RowMaker(const TracedProblem& problem) : problem_(problem) {
    row_.engine = "cpu";
    row_.count = 1;
    switch (problem.execution.pass) {
      case Pass::kForward:
        row_.prop_kind = problem.execution.training ? "forward_training" : "forward_inference";
        break;
      case Pass::kBackwardData:
        row_.prop_kind = "backward_data";
        break;
      case Pass::kBackwardWeights:
        row_.prop_kind = "backward_weights";
        break;
    }
  }

  const TracedProblem& problem() const { return problem_; }
  bool forward() const { return problem_.execution.pass == Pass::kForward; }
  const Op& op() const { return *problem_.op; }
  TraceRow& row() { return row_; }

  void Set(std::string_view primitive, std::string problem, std::string auxiliary = "") {
    row_.primitive = primitive;
    row_.problem = std::move(problem);
    row_.auxiliary = std::move(auxiliary);
  }

  // Adds the first of these operands that exists. Its layout is `tag`, if that is not empty.
  void Add(std::string_view name, std::initializer_list<Arg> args, const std::string& tag = "") {
    for (const Arg arg : args) {
      const std::optional<Operand> operand = op().Find(problem_.execution, arg);
      if (!operand) continue;
      TracedTensor tensor;
      tensor.name = name;
      tensor.type = NameOf(operand->type);
      tensor.format_kind = "any";
      const auto found = problem_.layouts.find(arg);
      if (!tag.empty()) {
        tensor.format_kind = "blocked";
        tensor.layout = tag;
      } else if (found != problem_.layouts.end() && !found->second.is_any() &&
                 !found->second.is_opaque()) {
        tensor.format_kind = "blocked";
        tensor.layout = found->second.tag();
      } else if (op().Traits().layout_policy != LayoutPolicy::kChooses) {
        // (row-major is what a kernel takes that follows its source)
        tensor.format_kind = "blocked";
        tensor.layout = Layout::Plain(operand->shape.rank()).tag();
      }
      row_.tensors.push_back(std::move(tensor));
      return;
    }
  }

  void AddPostOp(const std::string& post_op) {
    if (!forward()) return;  // applied by another primitive
    row_.attributes += (row_.attributes.empty() ? "attr-post-ops:" : "+") + post_op;
  }

  // Bound 0: none.
  void AddRelu(float bound) {
    AddPostOp(bound == 0 ? "eltwise_relu" : fmt::format("eltwise_clip:0:{}", bound));
  }

  // The sources and the result of a product, or their gradients, with the layout of the weights.
  void AddProduct(const std::string& weights_tag = "") {
    Add("src", {Arg::kSrc, Arg::kDiffSrc});
    Add("wei", {Arg::kWeights, Arg::kDiffWeights}, weights_tag);
    Add("bia", {Arg::kBias, Arg::kDiffBias});
    Add("dst", {Arg::kDst, Arg::kDiffDst});
  }

  void NoPasses() {
    if (!forward())
      throw NotTranslated(fmt::format("oneDNN's {} has no backward pass", row_.primitive));
    row_.prop_kind = "undef";
  }

 private:
  const TracedProblem& problem_;
  TraceRow row_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_ROW_MAKER_H_
