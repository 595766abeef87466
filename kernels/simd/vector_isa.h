// The vector ISAs of this CPU, for libraries with code for several.

#ifndef TOPDNN_KERNELS_SIMD_VECTOR_ISA_H_
#define TOPDNN_KERNELS_SIMD_VECTOR_ISA_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace topdnn {

// "avx512", "avx2", or "" if the CPU or the operating system lacks both. The CPU features that an
// ISA needs are those that cmake/Isa.cmake lets the compiler use.
std::string_view WidestVectorIsa();

// Vectors of as many floats, and the ISA that they need; empty: every CPU has them.
struct VectorLanes {
  std::string_view isa = {};
  std::int64_t lanes = 4;
};

// The widest first.
std::vector<VectorLanes> VectorsOfThisCpu();
// The widest ones with a number of lanes that `fits`; of 4 lanes if none does.
VectorLanes WidestVectors(const std::function<bool(std::int64_t lanes)>& fits);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SIMD_VECTOR_ISA_H_
