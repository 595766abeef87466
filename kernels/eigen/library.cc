#include "kernels/eigen/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/kernel/run_failure.h"
#include "kernels/simd/vector_isa.h"

namespace topdnn::eigen {

namespace {

struct Isa {
  std::string_view name;
  bool runs_here;
  bool is_built = std::string_view(" " TOPDNN_EIGEN_ISAS " ").find(fmt::format(" {} ", name)) !=
                  std::string_view::npos;
};

#if defined(__x86_64__)

constexpr std::string_view kIsaNames = "sse2, avx2, avx512";

// Widest first.
std::vector<Isa> Isas() {
  const std::string_view widest = WidestVectorIsa();
  return {{.name = "avx512", .runs_here = widest == "avx512"},
          {.name = "avx2", .runs_here = !widest.empty()},
          {.name = "sse2", .runs_here = true}};
}

#else

constexpr std::string_view kIsaNames = "neon";

// Eigen 3.4 has vectors of NEON, which every 64-bit Arm core has. Its SVE needs a fixed length.
std::vector<Isa> Isas() { return {{.name = "neon", .runs_here = true}}; }

#endif

using Found = std::variant<const Functions*, Refusal>;

// The library is loaded with dlopen, not linked, because its start-up code may contain wide
// instructions. It is loaded by its path, because the sanitizers' dlopen does not use the run path
// of the caller.
Found Load(Variant variant, std::string_view isa) {
  const std::string file =
      fmt::format("libtopdnn_eigen_{}{}.so", variant == Variant::kSgemm ? "sgemm_" : "", isa);
  std::error_code ignored;  // the path stays empty, and dlopen reports the error
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  void* library = nullptr;
  for (const auto& path : {folder / file, folder.parent_path() / file}) {
    if (library == nullptr) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  void* symbol = library == nullptr ? nullptr : dlsym(library, "topdnn_eigen_functions");
  if (symbol == nullptr) {
    return Refusal{fmt::format(
        "cannot load {} from the program's folder or the one above it ({}); build the target "
        "topdnn_eigen_libraries, or topdnn on this machine",
        file, dlerror())};
  }
  const Functions* functions = reinterpret_cast<decltype(&topdnn_eigen_functions)>(symbol)();
  functions->set_failure_recorder(RecordRunFailure);
  return functions;
}

}  // namespace

Found FindFunctions(Variant variant, std::string_view isa) {
  static std::mutex mutex;
  static std::map<std::pair<Variant, std::string_view>, Found> loaded;
  const std::vector<Isa> isas = Isas();
  const auto chosen = std::find_if(isas.begin(), isas.end(), [&](const Isa& candidate) {
    return isa.empty() ? candidate.runs_here && candidate.is_built : candidate.name == isa;
  });
  if (chosen == isas.end() && isa.empty()) {
    return Refusal{"this build has Eigen compiled for " TOPDNN_EIGEN_ISAS
                   ", and this CPU supports none of them"};
  }
  if (chosen == isas.end()) {
    return Refusal{fmt::format("eigen has no ISA '{}'; use {} or none", isa, kIsaNames)};
  }
  if (!chosen->is_built) {
    return Refusal{fmt::format(
        "this build has no Eigen compiled for {}, only for " TOPDNN_EIGEN_ISAS, chosen->name)};
  }
  if (!chosen->runs_here) return Refusal{fmt::format("this CPU does not support {}", chosen->name)};
  const std::lock_guard lock(mutex);
  const auto found = loaded.find({variant, chosen->name});
  if (found != loaded.end()) return found->second;
  return loaded.emplace(std::pair(variant, chosen->name), Load(variant, chosen->name))
      .first->second;
}

std::shared_ptr<Pool> SharePool(const Functions& functions, int threads) {
  static std::mutex mutex;
  static std::map<std::pair<const Functions*, int>, std::weak_ptr<Pool>> pools;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Pool>& shared = pools[{&functions, threads}];
  std::shared_ptr<Pool> pool = shared.lock();
  if (pool == nullptr) {
    pool = {functions.make_pool(threads), functions.release_pool};
    shared = pool;
  }
  return pool;
}

}  // namespace topdnn::eigen
