// A backend that has a library's name calls that library in each of its kernels; the backend
// `native` calls none, except for the conversions of bf16.
//
// The functions below are found before those of the libraries, count, and call them.

#include <cblas.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/logged/logged_primitive.h"
#include "kernels/op/problem.h"
#include "kernels/reorder/reorder.h"
#include "tests/kernels/kernel_check.h"

namespace {

std::atomic<int> onednn_calls, openblas_calls;

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                     int count, const dnnl_exec_arg_t* arguments) {
  static auto* const next = Next<decltype(dnnl_primitive_execute)>("dnnl_primitive_execute");
  ++onednn_calls;
  return next(primitive, stream, count, arguments);
}

dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                         float alpha, const float* a, dnnl_dim_t lda, const float* b,
                         dnnl_dim_t ldb, float beta, float* c, dnnl_dim_t ldc) {
  static auto* const next = Next<decltype(dnnl_sgemm)>("dnnl_sgemm");
  ++onednn_calls;
  return next(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, blasint m,
                 blasint n, blasint k, float alpha, const float* a, blasint lda, const float* b,
                 blasint ldb, float beta, float* c, blasint ldc) {
  static auto* const next = Next<decltype(cblas_sgemm)>("cblas_sgemm");
  ++openblas_calls;
  next(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_sgemv(CBLAS_ORDER order, CBLAS_TRANSPOSE trans, blasint m, blasint n, float alpha,
                 const float* a, blasint lda, const float* x, blasint incx, float beta, float* y,
                 blasint incy) {
  static auto* const next = Next<decltype(cblas_sgemv)>("cblas_sgemv");
  ++openblas_calls;
  next(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

}  // extern "C"

namespace topdnn {
namespace {

// A problem of each kind and more: those of the set "smoke", a reorder, a logged primitive, and
// some that oneDNN lacks, which its backend must refuse instead of computing them by topdnn's
// loops.
std::vector<std::shared_ptr<const Op>> Problems() {
  std::vector<std::shared_ptr<const Op>> ops;
  std::ifstream file(TOPDNN_SOURCE_DIR "/bench/problems/smoke.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("passes:")) continue;
    ops.push_back(ParseProblem(line.substr(0, line.find(' '))));
  }
  for (const char* lacking : {"slice/3_start-2_step1_extent7_edge", "unary/log2x16",
                              "pool_nd/max1x3x9_kernel3_stride2_dilation2_before2_after1",
                              "interpolate/linear2x3x9x20_to2x3x18x40_scale1x1x2x2_asymmetric"}) {
    ops.push_back(ParseProblem(lacking));
  }
  const Shape shape{2, 16, 8, 8};
  ops.push_back(std::make_shared<ReorderOp>(shape, DataType::kF32, DataType::kF32));
  LoggedPrimitive shuffle;
  shuffle.name = "shuffle";
  shuffle.operands = {{Arg::kSrc, Direction::kIn, shape, DataType::kF32},
                      {Arg::kDst, Direction::kOut, shape, DataType::kF32}};
  shuffle.axis = 1;
  shuffle.groups = 4;
  ops.push_back(std::make_shared<LoggedOp>(std::move(shuffle), Execution()));
  return ops;
}

struct Calls {
  int runs = 0;
  int without = 0;  // runs that call no function of the library
  std::string first_without;
};

// `calls`: those to the library.
Calls CallsOf(const std::string& kind, const std::string& backend, const std::atomic<int>& calls) {
  Calls found;
  for (const auto& op : Problems()) {
    if (op->kind() != kind) continue;
    for (const Pass pass : kAllPasses) {
      for (const DataType type : {DataType::kF32, DataType::kBF16, DataType::kU8}) {
        const Execution execution{pass, type != DataType::kU8, type};
        if (!op->Has(execution)) continue;
        KernelRun run(backend, RequestFor(op, execution, 2));
        if (run.kernel() == nullptr) continue;
        run.Run();
        const int before = calls;
        run.RunAgain();
        ++found.runs;
        if (calls != before) continue;
        ++found.without;
        found.first_without = Describe(backend, RequestFor(op, execution, 2));
      }
    }
  }
  return found;
}

TEST(LibraryCallsTest, AKernelOfALibraryCallsIt) {
  const std::map<std::string, const std::atomic<int>*> libraries = {{"onednn", &onednn_calls},
                                                                    {"openblas", &openblas_calls}};
  int kernels = 0;
  for (const auto& [kind, backend] : RegisteredKernels()) {
    const auto library = libraries.find(backend);
    if (library == libraries.end()) continue;
    const Calls calls = CallsOf(kind, backend, *library->second);
    // (oneDNN has integers only on some CPUs)
    EXPECT_TRUE(calls.runs > 0 || kind.starts_with("quantized_")) << kind << " on " << backend;
    EXPECT_EQ(calls.without, 0) << calls.first_without;
    ++kernels;
  }
  EXPECT_GT(kernels, 30);
}

TEST(LibraryCallsTest, NativeCallsNone) {
  int kernels = 0;
  for (const auto& [kind, backend] : RegisteredKernels()) {
    if (backend != kNative) continue;
    for (const std::atomic<int>* library : {&onednn_calls, &openblas_calls}) {
      const Calls calls = CallsOf(kind, backend, *library);
      EXPECT_EQ(calls.without, calls.runs) << kind;
      // (a convolution is a variant, and the problem of conv_transpose is one of OpenBLAS)
      EXPECT_TRUE(calls.runs > 0 || kind.starts_with("conv")) << kind;
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 30);
}

}  // namespace
}  // namespace topdnn
