// Runs before the libraries start. When OpenBLAS is loaded (seen with 0.3.21), it allocates a
// buffer for each of its threads, and retries forever if a limit refuses the memory. So if there is
// such a limit, this code first tries to allocate the same memory, and ends the program with a
// message if that fails.

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/command_line/command.h"
#include "harness/machine/machine.h"

namespace topdnn {

namespace {

constexpr std::size_t kBuffer = std::size_t{128} << 20;  // OpenBLAS's BUFFER_SIZE on x86-64
constexpr std::size_t kPage = 4096;                      // one more page, for alignment

// The number of threads that OpenBLAS starts.
std::size_t BlasThreads() {
  // A mask of 65,536 CPUs, more than any kernel is built for.
  static cpu_set_t cpus[64];
  int threads = sched_getaffinity(0, sizeof cpus, cpus) == 0 ? CPU_COUNT_S(sizeof cpus, cpus) : 1;
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* const value = std::getenv(name);
    const int wanted = value == nullptr ? 0 : std::atoi(value);
    if (wanted > 0) threads = std::min(threads, wanted);
  }
  return static_cast<std::size_t>(threads);
}

// Uses no exceptions and no objects with constructors: no constructor has run yet.
void CheckLimits(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  if (!MemoryIsLimited()) return;
  const std::size_t bytes = BlasThreads() * (kBuffer + kPage);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    munmap(memory, bytes);
    return;
  }
  char line[256];
  const int length = std::snprintf(
      line, sizeof line,
      "topdnn: out of memory: OpenBLAS needs %zu MiB to start, which a limit of this process "
      "refuses; raise it (ulimit -v, ulimit -d), or set OMP_NUM_THREADS=1\n",
      bytes >> 20);
  // (if even that fails, only the exit status remains)
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) _exit(kExitWrong);
  _exit(kExitWrong);
}

// Runs before the constructors of every library (System V gABI, "Initialization and Termination").
__attribute__((section(".preinit_array"), used)) void (*const kCheckLimits)(int, char**,
                                                                            char**) = CheckLimits;

}  // namespace

}  // namespace topdnn
