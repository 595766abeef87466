// Where code is: library and function, or the name that a just-in-time compiler gave it.

#ifndef TOPDNN_HARNESS_HOT_CODE_PLACE_H_
#define TOPDNN_HARNESS_HOT_CODE_PLACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// A range of code with a name.
struct CodeSymbol {
  std::uint64_t start = 0, size = 0;
  std::string name;
};

// The entries of a perf map: "START SIZE NAME" in hexadecimal, one a line (the kernel's
// tools/perf/Documentation/jit-interface.txt). Lines that are none are left out.
std::vector<CodeSymbol> ReadPerfMap(std::string_view text);
// The functions of an ELF file of 64 bits, by its symbol tables; empty if it cannot be read.
std::vector<CodeSymbol> ReadElfFunctions(const std::string& path);
// A demangled name without its parameters: "topdnn::Sum".
std::string ShortFunctionName(const std::string& symbol);

// Places in this process.
class CodePlaces {
 public:
  // `jit`: the code that just-in-time compilers made.
  explicit CodePlaces(std::vector<CodeSymbol> jit) : jit_(std::move(jit)) {}

  // "libdnnl.so.2!gemm_kernel+0x40", or "JIT jit_uni_pool_kernel+0x4c3".
  std::string Of(std::uint64_t address);

 private:
  std::vector<CodeSymbol> jit_;
  std::map<std::string, std::vector<CodeSymbol>> functions_;  // by path
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_CODE_PLACE_H_
