#include "harness/probes/team.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace topdnn {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Iterations that last about as long as a window. Finding them warms caches, clock and branch
// predictors up.
std::int64_t Iterations(const Probe& probe, ProbeBuffers& buffers, double window_seconds) {
  for (std::int64_t iterations = 1;; iterations *= 2) {
    const double begin = Seconds();
    probe.run(buffers, iterations);
    const double seconds = Seconds() - begin;
    if (seconds >= window_seconds / 2) {
      const double fitting = static_cast<double>(iterations) * window_seconds / seconds;
      return std::max<std::int64_t>(1, std::llround(fitting));
    }
  }
}

}  // namespace

ProbeTeam::ProbeTeam(const Probe& probe, int threads, std::size_t working_set,
                     double window_seconds)
    : probe_(probe), members_(static_cast<std::size_t>(threads)) {
  for (Member& member : members_) member.buffers = std::make_unique<ProbeBuffers>(working_set);
#pragma omp parallel num_threads(threads)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    ProbeBuffers& buffers = *members_[thread].buffers;
    // The first touch, which places the pages.
    probe.prepare(probe, buffers, Fill::kReals, thread + 1);
    const std::int64_t own = Iterations(probe, buffers, window_seconds);
#pragma omp critical(topdnn_probe_team)
    iterations_ = std::max(iterations_, own);
  }
}

std::optional<double> ProbeTeam::Window() {
  const int threads = static_cast<int>(members_.size());
  int present = 0;
#pragma omp parallel num_threads(threads)
  {
    Member& self = members_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp single
    present = omp_get_num_threads();
    // (`single` ends in a barrier)
    if (present == threads) {
      self.begin = Seconds();
      probe_.run(*self.buffers, iterations_);
      self.end = Seconds();
    }
  }
  if (present != threads) return std::nullopt;
  double first = members_.front().begin;
  double last = members_.front().end;
  for (const Member& member : members_) {
    first = std::min(first, member.begin);
    last = std::max(last, member.end);
  }
  return static_cast<double>(iterations_) * threads / (last - first);
}

}  // namespace topdnn
