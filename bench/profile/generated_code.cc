#include "bench/profile/generated_code.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "harness/files/small_file.h"

namespace topdnn {

namespace {

// 2: DNNL_JIT_PROFILE_LINUX_PERFMAP (oneDNN's guide "Profiling oneDNN Performance"). oneDNN reads
// the variable when it first generates code.
constexpr const char* kVariable = "DNNL_JIT_PROFILE";
constexpr const char* kPerfMap = "2";

}  // namespace

GeneratedCode::GeneratedCode() : path_("/tmp/perf-" + std::to_string(getpid()) + ".map") {
  if (std::getenv(kVariable) != nullptr) return;
  own_.emplace(path_);
  setenv(kVariable, kPerfMap, 0);
}

GeneratedCode::~GeneratedCode() {
  if (own_) unsetenv(kVariable);
}

std::string GeneratedCode::Names() const {
  constexpr std::size_t kMaxMapBytes = std::size_t{1} << 28;
  return ReadSmallFile(path_, kMaxMapBytes).text;
}

}  // namespace topdnn
