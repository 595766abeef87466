// Addition as an Eigen device expression, in any layout that all sources have; other
// functions as loops on Eigen's pool.

#include <vector>

#include "kernels/eigen/range_loop.h"
#include "kernels/eltwise/add.h"
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

const eigen::Registration kEigenAdd("add", MakeEigenAdd);
const eigen::Registration kEigenBinary("binary", eigen::MakeRange<BinaryLoop>);
const eigen::Registration kEigenUnary("unary", eigen::MakeRange<UnaryLoop>);
const FidelityDeclaration kEigenFidelity[] = {
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
