// Addition as an Eigen device expression, in any layout that all sources have; other
// functions as loops on Eigen's pool.

#include <vector>

#include "kernels/eigen/range_loop.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/gate_gradients.h"
#include "kernels/eltwise/loops.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

class AddEigen : public eigen::EigenKernel {
 public:
  AddEigen(const KernelRequest& request, const eigen::Functions& functions, const AddOp& op)
      : EigenKernel(request, functions, "expression"), count_(op.sources()), relu_(op.relu()) {
    const TensorDesc& desc = operands().front().desc;
    n_ = desc.layout.PaddedElements(desc.shape);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    sources_.clear();
    for (int i = 0; i < count_; ++i) sources_.push_back(Indexed(i));
  }

 private:
  void Compute() override {
    functions().add(pool(), n_, count_, sources_.data(), relu_, Data(Arg::kDst));
  }

  const int count_;
  const bool relu_;
  std::int64_t n_;
  std::vector<const float*> sources_;
};

KernelOrRefusal MakeEigenAdd(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleOneLayout(request)) return *std::move(refusal);
  return eigen::Make<AddEigen, AddOp>(functions, request);
}

class GateGradientsEigen : public eigen::EigenKernel {
 public:
  GateGradientsEigen(const KernelRequest& request, const eigen::Functions& functions,
                     const BinaryOp& op)
      : EigenKernel(request, functions, "loop"),
        gradients_(op, request.LayoutOf(op.first_arg()), request.execution.type) {}

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    context_ = {&gradients_, gradients_.Bind(memory)};
  }

 private:
  struct Context {
    const GateGradients* gradients;
    GateGradients::Operands data;
  };

  void Compute() override {
    const auto elements = static_cast<double>(gradients_.piece());
    functions().for_ranges(
        pool(), gradients_.pieces(), 3 * sizeof(float) * elements, elements,
        [](const void* given, std::int64_t first, std::int64_t end) {
          const auto& of_pieces = *static_cast<const Context*>(given);
          of_pieces.gradients->Run(of_pieces.data, first, end);
        },
        &context_);
  }

  const GateGradients gradients_;
  Context context_ = {};
};

KernelOrRefusal MakeEigenBinary(const eigen::Functions& functions, KernelRequest& request) {
  if (request.execution.pass == Pass::kForward) {
    return eigen::MakeRange<BinaryLoop>(functions, request);
  }
  const auto& op = request.OpAs<BinaryOp>();
  const std::optional<Layout> layout = GateLayout(request);
  if (!layout || request.execution.type != DataType::kF32) {
    return Refusal{"the loops compute in f32, with one layout for images"};
  }
  for (const Operand& operand : op.Operands(request.execution)) {
    request.layouts[operand.arg] = *layout;
  }
  return std::make_unique<GateGradientsEigen>(request, functions, op);
}

const eigen::Registration kEigenAdd("add", MakeEigenAdd);
const eigen::Registration kEigenBinary("binary", MakeEigenBinary);
const eigen::Registration kEigenUnary("unary", eigen::MakeRange<UnaryLoop>);
const FidelityDeclaration kEltwiseEigenFidelity[] = {
    FidelityDeclaration({"add", "eigen", Fidelity::kSame,
                         "as AddN: two to nine sources in the first expression, then eight at a "
                         "time; a fused ReLU is ours",
                         "aggregate_ops.cc"}),
    FidelityDeclaration({"binary", "eigen", Fidelity::kOurs,
                         "loops over rows on Eigen's pool, with our estimate of their cost; "
                         "TensorFlow evaluates an expression, which repeats the smaller source",
                         "cwise_ops_common.h"}),
    FidelityDeclaration({"unary", "eigen", Fidelity::kOurs,
                         "a loop for each function on Eigen's pool, with our estimate of its cost; "
                         "TensorFlow evaluates an expression",
                         "cwise_ops_common.h"}),
};

}  // namespace

}  // namespace topdnn
