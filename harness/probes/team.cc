#include "harness/probes/team.h"

#include <omp.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace topdnn {
namespace {

// The clock is read once per part (about 25 ns), which is negligible in parts of 40 us or more.
constexpr int kPartsOfWindow = 8;
// A window also ends when a thread has done this many parts, because other threads may wait for a
// CPU for much longer than a window.
constexpr std::size_t kMaxMarks = 16 * kPartsOfWindow;
// If the threads worked at the same time for a smaller share of a window, the rate is that of the
// whole window (see RateInCommon).
constexpr double kMinInCommon = 0.5;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU time of the calling thread.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double SecondsOf(const Probe& probe, ProbeBuffers& buffers, std::int64_t iterations) {
  const double begin = Seconds();
  probe.run(buffers, iterations);
  return Seconds() - begin;
}

// The number of iterations that take about this long. Uses the faster of two runs: if the thread
// lost its CPU in a run, the parts would be too short.
std::int64_t Iterations(const Probe& probe, ProbeBuffers& buffers, double wanted_seconds) {
  for (std::int64_t iterations = 1;; iterations *= 2) {
    double seconds = SecondsOf(probe, buffers, iterations);
    if (seconds >= wanted_seconds / 2) {
      seconds = std::min(seconds, SecondsOf(probe, buffers, iterations));
    }
    if (seconds >= wanted_seconds / 2) {
      const double fitting = static_cast<double>(iterations) * wanted_seconds / seconds;
      return std::max<std::int64_t>(1, std::llround(fitting));
    }
  }
}

// The iterations that a thread had done at a time between its first and last mark: linear
// interpolation between two marks.
double IterationsAt(const std::vector<WorkMark>& marks, double seconds) {
  const auto later =
      std::find_if(marks.begin() + 1, marks.end() - 1,
                   [seconds](const WorkMark& mark) { return mark.seconds >= seconds; });
  const WorkMark& before = *(later - 1);
  const double length = later->seconds - before.seconds;
  const double share = length > 0 ? std::clamp((seconds - before.seconds) / length, 0.0, 1.0) : 1.0;
  return static_cast<double>(before.iterations) +
         share * static_cast<double>(later->iterations - before.iterations);
}

// The times at which the threads of a window began and ended.
struct Span {
  double first_begin, last_begin, first_end, last_end;
  bool Common(double least_seconds) const { return first_end - last_begin > least_seconds; }
};

Span SpanOf(std::span<const std::vector<WorkMark>> threads) {
  const double begin = threads.front().front().seconds;
  const double end = threads.front().back().seconds;
  Span span = {begin, begin, end, end};
  for (const std::vector<WorkMark>& marks : threads) {
    span.first_begin = std::min(span.first_begin, marks.front().seconds);
    span.last_begin = std::max(span.last_begin, marks.front().seconds);
    span.first_end = std::min(span.first_end, marks.back().seconds);
    span.last_end = std::max(span.last_end, marks.back().seconds);
  }
  return span;
}

}  // namespace

double RateInCommon(std::span<const std::vector<WorkMark>> threads, double least_seconds) {
  const Span span = SpanOf(threads);
  if (!span.Common(least_seconds)) {
    double all = 0;
    for (const std::vector<WorkMark>& marks : threads) {
      all += static_cast<double>(marks.back().iterations);
    }
    return all / (span.last_end - span.first_begin);
  }
  double iterations = 0;
  for (const std::vector<WorkMark>& marks : threads) {
    iterations += IterationsAt(marks, span.first_end) - IterationsAt(marks, span.last_begin);
  }
  return iterations / (span.first_end - span.last_begin);
}

double ShareOnCpu(std::span<const std::vector<WorkMark>> threads,
                  std::span<const double> cpu_seconds, double least_seconds) {
  const Span span = SpanOf(threads);
  const bool common = span.Common(least_seconds);
  double on_cpu = 0;
  double all = 0;
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    const std::vector<WorkMark>& marks = threads[thread];
    on_cpu += cpu_seconds[thread];
    all += common ? marks.back().seconds - marks.front().seconds : span.last_end - span.first_begin;
  }
  return all > 0 ? std::min(on_cpu / all, 1.0) : 1.0;
}

ProbeTeam::ProbeTeam(const Probe& probe, int threads, std::size_t working_set,
                     double window_seconds, KeptPages* pages)
    : probe_(probe),
      pages_(pages),
      window_seconds_(window_seconds),
      members_(static_cast<std::size_t>(threads)),
      marks_(static_cast<std::size_t>(threads)),
      cpu_seconds_(static_cast<std::size_t>(threads)) {
  for (std::size_t thread = 0; thread < members_.size(); ++thread) {
    PageMemory memory =
        pages != nullptr ? pages->Take(thread, working_set) : AllocatePages(working_set);
    members_[thread].buffers = std::make_unique<ProbeBuffers>(working_set, std::move(memory));
  }
  for (std::vector<WorkMark>& marks : marks_) marks.reserve(kMaxMarks);
#pragma omp parallel num_threads(threads)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    Member& self = members_[thread];
    // The first touch, which places the pages.
    probe.prepare(probe, *self.buffers, Fill::kReals, thread + 1);
    self.iterations = Iterations(probe, *self.buffers, window_seconds / kPartsOfWindow);
  }
  Window();  // raises the clock to that of the probe's load
}

ProbeTeam::~ProbeTeam() {
  if (pages_ == nullptr) return;
  for (std::size_t thread = 0; thread < members_.size(); ++thread) {
    ProbeBuffers& buffers = *members_[thread].buffers;
    pages_->Keep(thread, buffers.working_set, std::move(buffers.memory));
  }
}

void ProbeTeam::Work(std::size_t thread, int threads) {
  Member& self = members_[thread];
  std::vector<WorkMark>& marks = marks_[thread];
  marks.clear();
  const double cpu_begin = CpuSeconds();
  WorkMark now = {Seconds(), 0};
  marks.push_back(now);
  const double enough = now.seconds + window_seconds_;
  bool done = false;
  while (marks.size() < kMaxMarks) {
    probe_.run(*self.buffers, self.iterations);
    now = {Seconds(), now.iterations + self.iterations};
    marks.push_back(now);
    if (!done && now.seconds >= enough) {
      done = true;
      done_.fetch_add(1, std::memory_order_relaxed);
    }
    if (done && done_.load(std::memory_order_relaxed) >= threads) break;
  }
  cpu_seconds_[thread] = CpuSeconds() - cpu_begin;
  if (!done) done_.fetch_add(1, std::memory_order_relaxed);
}

std::optional<double> ProbeTeam::Window() {
  const int threads = static_cast<int>(members_.size());
  int present = 0;
  done_ = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    present = omp_get_num_threads();
    // `single` ends with a barrier
    if (present == threads) Work(static_cast<std::size_t>(omp_get_thread_num()), threads);
  }
  if (present != threads) return std::nullopt;
  const double least = kMinInCommon * window_seconds_;
  on_cpu_ = ShareOnCpu(marks_, cpu_seconds_, least);
  return RateInCommon(marks_, least);
}

double ProbeTeam::WindowAlone() {
  done_ = 0;
  Work(0, 1);
  on_cpu_ = ShareOnCpu({marks_.data(), 1}, {cpu_seconds_.data(), 1}, 0);
  return RateInCommon({marks_.data(), 1}, 0);
}

}  // namespace topdnn
