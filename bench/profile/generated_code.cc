#include "bench/profile/generated_code.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace topdnn {

namespace {

// 2: DNNL_JIT_PROFILE_LINUX_PERFMAP (oneDNN's guide "Profiling oneDNN Performance"). oneDNN reads
// the variable when it first generates code.
constexpr const char* kVariable = "DNNL_JIT_PROFILE";
constexpr const char* kPerfMap = "2";

}  // namespace

GeneratedCode::GeneratedCode()
    : path_("/tmp/perf-" + std::to_string(getpid()) + ".map"),
      own_(std::getenv(kVariable) == nullptr) {
  if (own_) setenv(kVariable, kPerfMap, 0);
}

GeneratedCode::~GeneratedCode() {
  if (!own_) return;
  unsetenv(kVariable);
  std::remove(path_.c_str());
}

std::string GeneratedCode::Names() const {
  std::ifstream file(path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace topdnn
