#include "bench/studies/cosched/cosched_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>

#include "bench/studies/cosched/others_share.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/topology.h"
#include "harness/measure/watched_run.h"
#include "harness/scheduling/cpu_assignment.h"

namespace topdnn {

namespace {

using std::chrono::milliseconds;

constexpr auto kTick = milliseconds(50);         // without an event
constexpr auto kShortTick = milliseconds(5);     // a job starts, or changes its width
constexpr auto kCpusPeriod = milliseconds(250);  // between looks at the usable CPUs

class Scheduler {
 public:
  Scheduler(std::span<const TraceJob> jobs, const Policy& policy,
            const CoschedRunSettings& settings)
      : jobs_(jobs),
        policy_(policy),
        settings_(settings),
        processes_(jobs.size()),
        since_(jobs.size()),
        cpus_of_(jobs.size()),
        cpus_(settings.cpus()),
        begin_(CoschedClock::now()),
        looked_(begin_) {
    schedule_.jobs.resize(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) schedule_.jobs[j].arrival = jobs[j].arrival;
  }

  Schedule Run() {
    while (arrived_ < jobs_.size() || !queue_.empty()) {
      if (IsCancelled(settings_.cancel)) {
        schedule_.complete = false;
        break;
      }
      const bool changed = Poll();
      if (changed) Decide();
      Await();
    }
    CloseAll();
    return schedule_;
  }

 private:
  double SecondsAt(CoschedClock::time_point time) const {
    return std::chrono::duration<double>(time - begin_).count();
  }

  // Returns whether the policy must decide again.
  bool Poll() {
    const auto now = CoschedClock::now();
    bool changed = LookAtCpus(now);
    for (; arrived_ < jobs_.size() && jobs_[arrived_].arrival <= SecondsAt(now); ++arrived_) {
      Enqueue(arrived_, jobs_[arrived_], queue_);
      changed = true;
    }
    for (const QueuedJob& queued : queue_) {
      if (processes_[queued.job]) processes_[queued.job]->Poll(now);
    }
    const std::size_t before = queue_.size();
    std::erase_if(queue_, [this](const QueuedJob& queued) { return Collect(queued); });
    return changed || queue_.size() != before;
  }

  bool LookAtCpus(CoschedClock::time_point now) {
    if (now - looked_ < kCpusPeriod) return false;
    looked_ = now;
    std::vector<int> cpus = settings_.cpus();
    if (cpus == cpus_) return false;
    CountCapacity(now);
    cpus_ = std::move(cpus);
    return true;
  }

  void CountCapacity(CoschedClock::time_point now) {
    capacity_ += (SecondsAt(now) - counted_) * static_cast<double>(cpus_.size());
    counted_ = SecondsAt(now);
  }

  // Records the job if it has ended. Returns whether it has.
  bool Collect(const QueuedJob& queued) {
    const auto& process = processes_[queued.job];
    if (!process || !process->ended()) return false;
    JobRun& run = schedule_.jobs[queued.job];
    run.end = SecondsAt(process->end());
    run.failure = process->fault();
    CloseSegment(queued, *run.end);
    schedule_.cpu_seconds += process->cpu_seconds();
    processes_[queued.job].reset();
    ++done_;
    if (settings_.progress) settings_.progress(done_);
    return true;
  }

  void CloseSegment(const QueuedJob& queued, double now) {
    JobRun& run = schedule_.jobs[queued.job];
    if (now > since_[queued.job]) {
      run.segments.push_back({since_[queued.job], now, queued.now.width});
    }
  }

  void Decide() {
    const double now = SecondsAt(CoschedClock::now());
    const auto cpu_count = static_cast<int>(cpus_.size());
    FailTooWide(cpu_count, now);
    for (QueuedJob& queued : queue_) {
      if (processes_[queued.job]) continue;
      // A job that starts after a loss of CPUs refuses a maximum width above those that are left.
      const int most = std::min(jobs_[queued.job].max_width, cpu_count);
      queued.max_width = std::max(most, queued.min_width);
    }
    const std::vector<JobWidth> widths =
        policy_.decide({.cpus = cpu_count, .part_width = settings_.part_width, .jobs = queue_});
    std::vector<CpuClaim> claims;
    for (std::size_t q = 0; q < queue_.size(); ++q) {
      claims.push_back({.wanted = widths[q], .now = cpus_of_[queue_[q].job]});
    }
    const auto cpus = AssignCpus(cpus_, settings_.part_width, claims);
    for (std::size_t q = 0; q < queue_.size(); ++q) {
      Apply(widths[q], policy_.own_cpus ? cpus[q] : cpus_, now, queue_[q]);
    }
  }

  // A job that waits and needs more CPUs than are left would stop the queue for ever. While others
  // run, CPUs may come back.
  void FailTooWide(int cpu_count, double now) {
    for (const QueuedJob& queued : queue_) {
      if (processes_[queued.job]) return;
    }
    std::erase_if(queue_, [&](const QueuedJob& queued) {
      if (queued.min_width <= cpu_count) return false;
      JobRun& run = schedule_.jobs[queued.job];
      run.end = now;
      run.failure = fmt::format("needs {} CPUs, and the run has {} left: write a smaller min_width",
                                queued.min_width, cpu_count);
      ++done_;
      return true;
    });
  }

  void Apply(const JobWidth& to, const std::vector<int>& cpus, double now, QueuedJob& queued) {
    if (to.width == 0) return;
    auto& process = processes_[queued.job];
    if (!process) {
      TraceJob job = jobs_[queued.job];
      job.max_width = queued.max_width;
      process = std::make_unique<JobProcess>(job, to.width, fmt::format("job{}", queued.job),
                                             settings_.launch);
      since_[queued.job] = now;
      schedule_.jobs[queued.job].begin = SecondsAt(process->begin());
    } else if (to.width != queued.now.width) {
      CloseSegment(queued, now);
      since_[queued.job] = now;
      process->SetWidth(to.width);
    }
    cpus_of_[queued.job] = cpus;
    process->SetCpus(cpus);
    queued.now = to;
    process->Poll(CoschedClock::now());  // sends it at once
  }

  // Until a job ends or replies, the next arrival, or a tick.
  void Await() const {
    auto until = CoschedClock::now() + kTick;
    std::vector<pollfd> fds;
    for (const QueuedJob& queued : queue_) {
      const auto& process = processes_[queued.job];
      if (!process) continue;
      if (process->ended()) return;
      if (process->urgent()) until = std::min(until, CoschedClock::now() + kShortTick);
      // (poll ignores negative numbers)
      fds.push_back({process->process_fd(), POLLIN, 0});
      fds.push_back({process->socket_fd(), POLLIN, 0});
    }
    if (arrived_ < jobs_.size()) {
      const auto arrival = begin_ + std::chrono::duration_cast<CoschedClock::duration>(
                                        std::chrono::duration<double>(jobs_[arrived_].arrival));
      until = std::min(until, arrival);
    }
    const auto left = std::max(until - CoschedClock::now(), CoschedClock::duration::zero());
    const timespec wait = {0, std::chrono::duration_cast<std::chrono::nanoseconds>(left).count()};
    ppoll(fds.data(), fds.size(), &wait, nullptr);
  }

  // Ends the jobs that are left.
  void CloseAll() {
    const auto now = CoschedClock::now();
    for (const QueuedJob& queued : queue_) {
      if (processes_[queued.job]) CloseSegment(queued, SecondsAt(now));
    }
    processes_.clear();
    CountCapacity(now);
    schedule_.cpus = counted_ > 0 ? capacity_ / counted_ : static_cast<double>(cpus_.size());
  }

  std::span<const TraceJob> jobs_;
  const Policy& policy_;
  const CoschedRunSettings& settings_;
  std::vector<std::unique_ptr<JobProcess>> processes_;  // by job; null: it does not run
  std::vector<double> since_;                           // by job, of its present width
  std::vector<std::vector<int>> cpus_of_;               // by job
  std::vector<QueuedJob> queue_;                        // in its order
  std::vector<int> cpus_;
  CoschedClock::time_point begin_, looked_;
  std::size_t arrived_ = 0, done_ = 0;
  double capacity_ = 0, counted_ = 0;  // usable CPU seconds until the time `counted_`
  Schedule schedule_;
};

}  // namespace

std::vector<int> UsableCpus() {
  // (the cores are read once, and the allowed CPUs may change later)
  static const std::vector<std::vector<int>> cores = ReadTopology().cpus_of_cores;
  const std::vector<int> allowed = AllowedCpus().cpus;
  std::vector<int> first, others;
  for (const int cpu : allowed) {
    const bool second = std::any_of(cores.begin(), cores.end(), [&](const auto& core) {
      const auto at = std::find(core.begin(), core.end(), cpu);
      return at != core.end() && std::any_of(core.begin(), at, [&](int before) {
               return std::find(first.begin(), first.end(), before) != first.end();
             });
    });
    (second ? others : first).push_back(cpu);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

Schedule RunSchedule(std::span<const TraceJob> jobs, const Policy& policy,
                     const CoschedRunSettings& settings) {
  const OthersShare others(static_cast<int>(settings.cpus().size()));
  Schedule schedule = Scheduler(jobs, policy, settings).Run();
  // OthersShare needs the same CPUs during the whole run.
  const bool same = std::lround(schedule.cpus) == static_cast<long>(settings.cpus().size());
  if (schedule.complete && same) schedule.others = others.Share(schedule.cpu_seconds);
  return schedule;
}

}  // namespace topdnn
