// The widest vector ISA of this CPU, for libraries with code for several.

#ifndef TOPDNN_KERNELS_VECTOR_ISA_H_
#define TOPDNN_KERNELS_VECTOR_ISA_H_

#include <string_view>

namespace topdnn {

// "avx512", "avx2", or "" if the CPU or the operating system lacks both. The CPU features that an
// ISA needs are those that cmake/Isa.cmake lets the compiler use.
std::string_view WidestVectorIsa();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_VECTOR_ISA_H_
