// An OpenMP program for the tests of `topdnn malleable --program`. It prints the number of threads
// of each kind of parallel region, takes CPUs from the process that started it, as a container
// would, prints the numbers again, and gives the CPUs back.

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

int regions = 0;  // that had OpenMP's width

int ThreadsNow() { return omp_get_num_threads(); }

// A region, loops of three schedules, sections, and a region inside of another one (of one thread).
void PrintWidths(const char* when) {
  int plain = 0, dynamic = 0, guided = 0, at_run_time = 0, sections = 0, own = 0, inner = 0;
#pragma omp parallel
#pragma omp single
  plain = ThreadsNow();
#pragma omp parallel for schedule(dynamic) reduction(max : dynamic)
  for (int i = 0; i < 64; ++i) dynamic = ThreadsNow();
#pragma omp parallel for schedule(guided) reduction(max : guided)
  for (int i = 0; i < 64; ++i) guided = ThreadsNow();
#pragma omp parallel for schedule(runtime) reduction(max : at_run_time)
  for (int i = 0; i < 64; ++i) at_run_time = ThreadsNow();
#pragma omp parallel sections reduction(max : sections)
  { sections = ThreadsNow(); }
#pragma omp parallel num_threads(2)
#pragma omp single
  own = ThreadsNow();
#pragma omp parallel
#pragma omp single
  {
#pragma omp parallel
#pragma omp single
    inner = ThreadsNow();
  }
  regions += 7;
  std::printf("%s: %d %d %d %d %d, own %d, inner %d\n", when, plain, dynamic, guided, at_run_time,
              sections, own, inner);
}

// Whether a region has this number of threads within 20 s.
bool Becomes(int threads) {
  int found = 0;
  for (int i = 0; i < 2000 && found != threads; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ++regions;
#pragma omp parallel
#pragma omp single
    found = ThreadsNow();
  }
  return found == threads;
}

}  // namespace

int main() {
  const pid_t starter = getppid();
  cpu_set_t all, first;
  if (sched_getaffinity(starter, sizeof all, &all) != 0) return 3;
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
  }
  omp_set_num_threads(2);
  PrintWidths("both");
  sched_setaffinity(starter, sizeof first, &first);
  if (!Becomes(1)) std::printf("not followed\n");
  PrintWidths("one");
  omp_set_num_threads(2);
  std::printf("asked for two: %d\n", omp_get_max_threads());
  sched_setaffinity(starter, sizeof all, &all);
  if (!Becomes(2)) std::printf("not followed\n");
  PrintWidths("both");
  omp_set_num_threads(1);
  std::printf("asked for one: %d\n", omp_get_max_threads());
  std::printf("regions %d\n", regions);
  return 0;
}
