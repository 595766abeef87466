#include "harness/experiments/antagonist.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "harness/counters/clock.h"
#include "harness/experiments/experiment_error.h"
#include "harness/machine/thread_cpus.h"

namespace topdnn {

namespace {

// A rate is kept by reading a chunk and waiting. A chunk takes a few microseconds.
constexpr double kChunkBytes = 64 << 10;
// A thread that lost its CPU makes up for at most this many chunks.
constexpr double kMostArrears = 16;

void RelaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct Antagonist::State {
  State(const Probe& p, std::size_t bytes, std::size_t count)
      : probe(p), threads(static_cast<double>(count)) {
    for (std::size_t i = 0; i < count; ++i) buffers.emplace_back(bytes);
  }

  const Probe& probe;
  double threads;
  std::deque<ProbeBuffers> buffers;  // a thread's; each writes to its own first
  TickClock clock = BestClock();

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<double> rate{0};      // of one thread
  std::atomic<bool> ending{false};  // set under the mutex, as is `rate`
  int sleeping = 0;                 // under the mutex
  int started = 0;                  // under the mutex
  int bind_error = 0;               // under the mutex

  std::atomic<std::int64_t> bytes_read{0};
  std::vector<std::thread> members;

  // Returns when there is work. False: the object ends.
  bool AwaitWork() {
    std::unique_lock lock(mutex);
    ++sleeping;
    changed.notify_all();
    changed.wait(lock, [this] { return ending || rate > 0; });
    --sleeping;
    changed.notify_all();
    return !ending;
  }

  void Work(int cpu, ProbeBuffers& own) {
    const int error = BindThisThread(cpu);
    probe.prepare(probe, own, Fill::kReals, 1);
    {
      const std::lock_guard lock(mutex);
      ++started;
      if (error != 0) bind_error = error;
    }
    const auto iterations =
        static_cast<std::int64_t>(std::ceil(kChunkBytes / probe.work.bytes_loaded));
    const double chunk = static_cast<double>(iterations) * probe.work.bytes_loaded;
    while (AwaitWork()) {
      const std::uint64_t begin = clock.now();
      double due = 0;  // seconds after the begin
      for (double now_rate = rate; now_rate > 0 && !ending; now_rate = rate) {
        probe.run(own, iterations);
        bytes_read += static_cast<std::int64_t>(chunk);
        const double step = chunk / now_rate;  // 0 without a limit
        const auto elapsed = [&] { return clock.SecondsBetween(begin, clock.now()).value_or(due); };
        due = std::max(due + step, elapsed() - kMostArrears * step);
        while (elapsed() < due && rate == now_rate && !ending) RelaxCpu();
      }
    }
  }

  void End() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    for (std::thread& member : members) member.join();
  }
};

Antagonist::Antagonist(const Probe& probe, std::span<const int> cpus, std::size_t working_set)
    : state_(std::make_unique<State>(probe, working_set, cpus.size())) {
  State& state = *state_;
  try {
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      state.members.emplace_back(
          [&state, cpu = cpus[i], &own = state.buffers[i]] { state.Work(cpu, own); });
    }
  } catch (const std::system_error& e) {
    state.End();
    throw ExperimentError(fmt::format("cannot start a thread that takes bandwidth: {}", e.what()));
  }
  int error = 0;
  {
    std::unique_lock lock(state.mutex);
    const int all = static_cast<int>(cpus.size());
    state.changed.wait(lock, [&] { return state.started == all && state.sleeping == all; });
    error = state.bind_error;
  }
  if (error == 0) return;
  state.End();
  throw ExperimentError(fmt::format("cannot bind a thread that takes bandwidth to its CPU: {}",
                                    std::strerror(error)));
}

Antagonist::~Antagonist() {
  if (!state_->ending) state_->End();
}

void Antagonist::Take(double bytes_per_second) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.rate = bytes_per_second / state.threads;
  state.changed.notify_all();
  const int sleepers = bytes_per_second > 0 ? 0 : static_cast<int>(state.members.size());
  state.changed.wait(lock, [&state, sleepers] { return state.sleeping == sleepers; });
}

double Antagonist::bytes() const { return static_cast<double>(state_->bytes_read.load()); }

double BestRateOf(Antagonist& antagonist, double seconds) {
  const TickClock clock = BestClock();
  antagonist.Take(std::numeric_limits<double>::infinity());
  const double before = antagonist.bytes();
  const std::uint64_t begin = clock.now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double bytes = antagonist.bytes() - before;
  const double elapsed = clock.SecondsBetween(begin, clock.now()).value_or(seconds);
  antagonist.Take(0);
  return bytes / elapsed;
}

}  // namespace topdnn
