// General matrix multiplication on OpenBLAS: one sgemm per matrix of the batch.

#include "kernels/openblas.h"

#include "kernels/gemm/gemm.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class GemmOpenBlas : public Kernel {
 public:
  GemmOpenBlas(const KernelRequest& request, const GemmOp& op)
      : Kernel(request),
        e_(op.extents()),
        p_(ProductOf(e_, request.execution.pass)),
        beta_(request.execution.pass == Pass::kForward ? e_.beta : 0.0F) {
    implementation_ = openblas::Implementation("gemm");
    isa_ = openblas::Isa();
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    lhs_ = static_cast<const float*>(memory.at(p_.lhs));
    rhs_ = static_cast<const float*>(memory.at(p_.rhs));
    out_ = static_cast<float*>(memory.at(p_.out));
  }

  void Run() noexcept override {
    for (std::int64_t b = 0; b < e_.batch; ++b) {
      openblas::Sgemm(p_.trans_lhs, p_.trans_rhs, p_.rows, p_.columns, p_.inner,
                      lhs_ + b * p_.rows * p_.inner, rhs_ + b * p_.inner * p_.columns, beta_,
                      out_ + b * p_.rows * p_.columns, e_.alpha);
    }
  }

 private:
  const GemmExtents e_;
  const GemmProduct p_;
  const float beta_;
  const float* lhs_ = nullptr;
  const float* rhs_ = nullptr;
  float* out_ = nullptr;
};

KernelOrRefusal MakeGemm(const KernelRequest& request) {
  if (std::string why = openblas::RefusalOf(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<GemmOpenBlas>(request, dynamic_cast<const GemmOp&>(*request.op));
}

const KernelRegistration kRegistration("gemm", "openblas", MakeGemm);

}  // namespace

}  // namespace topdnn
