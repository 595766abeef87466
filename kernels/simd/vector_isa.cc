#include "kernels/simd/vector_isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace topdnn {

#if defined(__x86_64__)

namespace {

// Conversions of f16; clang 14's __builtin_cpu_supports does not know the name.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace

// __builtin_cpu_supports also checks that the operating system saves the registers.
std::string_view WidestVectorIsa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0 || !HasF16c()) {
    return "";
  }
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return avx512 ? "avx512" : "avx2";
}

#else

std::string_view WidestVectorIsa() { return ""; }

#endif

std::vector<VectorLanes> VectorsOfThisCpu() {
  const std::string_view widest = WidestVectorIsa();
  std::vector<VectorLanes> vectors;
  if (widest == "avx512") vectors.push_back({"avx512", 16});
  if (!widest.empty()) vectors.push_back({"avx2", 8});
  vectors.push_back({"", 4});
  return vectors;
}

VectorLanes WidestVectors(const std::function<bool(std::int64_t lanes)>& fits) {
  for (const VectorLanes& vectors : VectorsOfThisCpu()) {
    if (fits(vectors.lanes)) return vectors;
  }
  return {};
}

}  // namespace topdnn
