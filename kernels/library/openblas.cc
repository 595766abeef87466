#include "kernels/library/openblas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/simd/vector_isa.h"

namespace topdnn::openblas {

namespace {

// Whether OpenBLAS may have detected the wrong CPU: a CPU without AVX2 or FMA, which it detects by
// model number, or one that QEMU emulates, where any model may lack instructions.
bool IsUnusualCpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) return true;
  constexpr unsigned kHypervisorLeaf = 0x40000000;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(kHypervisorLeaf, eax, ebx, ecx, edx);
  constexpr unsigned kTcg = 0x54474354;  // "TCGT", the first four letters of QEMU's name
  return ebx == kTcg;
#else
  return true;  // the other architectures do not say whether they are emulated
#endif
}

// Computes products of all shapes and transpositions for which OpenBLAS has separate code, in this
// thread.
void RunProducts() noexcept {  // (in a child process, which an exception must end)
  for (const std::int64_t n : {1, 3, 17, 96}) {
    const std::vector<float> a(static_cast<std::size_t>(n * n), 1.0F);
    std::vector<float> c(a.size(), 0.0F);
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        Sgemm(transpose_a, transpose_b, n, n, n, a.data(), a.data(), 1.0F, c.data());
      }
    }
  }
}

// Tries the products in a child process, because an illegal instruction may end it.
std::string TryProducts() {
  const pid_t child = fork();
  if (child < 0) return {};  // no child process: assumes that OpenBLAS works, as on other CPUs
  if (child == 0) {
    constexpr rlimit kNoCore{0, 0};
    setrlimit(RLIMIT_CORE, &kNoCore);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);  // an emulator reports the signal
    for (const int signal_number : {SIGILL, SIGSEGV, SIGALRM}) signal(signal_number, SIG_DFL);
    constexpr unsigned kMaxSeconds = 60;
    alarm(kMaxSeconds);
    omp_set_num_threads(1);
    RunProducts();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fmt::format(
      "OpenBLAS detects this CPU as {}, and its code for that fails here ({}); set the "
      "environment variable OPENBLAS_CORETYPE to another core",
      openblas_get_corename(), WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an error");
}

// Why OpenBLAS's code does not run on this CPU; empty when it does.
const std::string& CpuRefusal() {
  static const std::string refusal = IsUnusualCpu() ? TryProducts() : std::string();
  return refusal;
}

}  // namespace

std::string IsaOfCore(std::string_view core) {
  // Core names in OpenBLAS's tables (driver/others/dynamic.c and dynamic_arm64.c), with the ISA of
  // the widest kernels of each.
  static constexpr std::pair<std::string_view, const char*> kCores[] = {
      {"SkylakeX", "avx512"}, {"Cooperlake", "avx512"}, {"SapphireRapids", "avx512"},
      {"Haswell", "avx2"},    {"Zen", "avx2"},          {"Excavator", "avx2"},
      {"Sandybridge", "avx"}, {"Bulldozer", "avx"},     {"Piledriver", "avx"},
      {"Steamroller", "avx"}, {"Nehalem", "sse41"},     {"Penryn", "sse41"},
      {"Prescott", "sse2"},   {"armv8", "neon"},        {"cortexa53", "neon"},
      {"cortexa57", "neon"},  {"cortexa72", "neon"},    {"neoversen1", "neon"},
      {"neoversev1", "sve"},  {"armv8sve", "sve"},      {"a64fx", "sve"},
  };
  for (const auto& [name, isa] : kCores) {
    if (name == core) return isa;
  }
  return "";
}

std::string RefusalOf(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32) {
    return fmt::format("OpenBLAS computes in f32, not {}", NameOf(request.execution.type));
  }
  if (std::string why = RowMajorRefusal(request, "OpenBLAS"); !why.empty()) return why;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    for (const std::int64_t extent : operand.shape.extents()) {
      if (extent > std::numeric_limits<blasint>::max()) {
        return fmt::format("OpenBLAS has 32-bit extents; {} as {} is larger",
                           operand.shape.ToString(), NameOf(operand.arg));
      }
    }
  }
  return CpuRefusal();
}

std::string OldCodeDoubt(std::string_view core, bool chosen_by_user, std::string_view widest) {
  if (chosen_by_user || core != "Prescott" || widest.empty()) return {};
  return fmt::format(
      "OpenBLAS does not know this CPU and runs its slow SSE3 code for Prescott; set the "
      "environment variable OPENBLAS_CORETYPE={} for its {} code",
      widest == "avx512" ? "SkylakeX" : "Haswell", widest);
}

std::string OldCodeDoubt() {
  return OldCodeDoubt(openblas_get_corename(), std::getenv("OPENBLAS_CORETYPE") != nullptr,
                      WidestVectorIsa());
}

OpenBlasKernel::OpenBlasKernel(const KernelRequest& request, std::string_view algorithm)
    : BoundKernel(request, fmt::format("{}:openblas_{}", algorithm, openblas_get_corename()),
                  IsaOfCore(openblas_get_corename())) {}

}  // namespace topdnn::openblas
