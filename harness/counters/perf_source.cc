#include "harness/counters/perf_source.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "harness/counters/open_error.h"
#include "harness/machine/thread_list.h"

namespace topdnn {

PerfSource::PerfSource(PerfSyscalls calls, PerfPlan plan,
                       std::function<std::vector<pid_t>()> threads, PerfKind kind)
    : calls_(std::move(calls)),
      plan_(std::move(plan)),
      kind_(std::move(kind)),
      threads_(threads ? std::move(threads) : ThreadsOfProcess) {
  std::map<std::string, int> seen;
  const auto add = [&](const std::string& name, std::size_t pass) {
    const int times = ++seen[name];
    events_.push_back(times == 1 ? name : fmt::format("{}#{}", name, times));
    pass_of_.push_back(pass);
  };
  for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) {
    first_of_.push_back(events_.size());
    for (const ResolvedEvent& event : plan_.passes[pass]) add(event.name, pass);
    for (const ResolvedEvent& event : plan_.elsewhere) add(event.name, pass);
  }
}

OpenOutcome PerfSource::OpenOn(pid_t thread, Worker& worker) {
  worker.push_back(std::make_unique<PerfGroup>(calls_));
  const OpenOutcome outcome =
      worker.front()->Open(plan_.passes.at(pass_), PerfScope::Thread(thread, kind_.modes));
  if (outcome.error != 0) return outcome;
  if (thread == 0) worker.front()->MapForUser();
  for (std::size_t e = 0; e < plan_.elsewhere.size(); ++e) {
    const ResolvedEvent& event = plan_.elsewhere[e];
    worker.push_back(std::make_unique<PerfGroup>(calls_));
    const int error = worker.back()->Open(std::span(&event, 1), PerfScope::Thread(thread)).error;
    // The count of a thread that has ended is complete without it.
    if (error == 0 || (error == ESRCH && thread != 0)) continue;
    elsewhere_refused_[e] =
        fmt::format("{} could not be opened on every thread: {}", event.name, RefusalOf(error));
  }
  return outcome;
}

std::string PerfSource::RefusalOf(int error) const {
  return RefusalText(error, PerfSurroundings::Here(), kind_.what);
}

void PerfSource::Begin(std::size_t pass) {
  End();
  pass_ = pass;
  refused_.clear();
  elsewhere_refused_.clear();
  std::vector<pid_t> threads;
  try {
    threads = threads_();
  } catch (const std::filesystem::filesystem_error& error) {
    refused_ = fmt::format("the threads of this process cannot be listed: {}",
                           RefusalOf(error.code().value()));
    return;
  }
  for (const pid_t thread : threads) {
    Worker worker;
    const OpenOutcome outcome = OpenOn(thread, worker);
    if (outcome.error == ESRCH && thread != 0) continue;  // the thread has ended
    if (outcome.error != 0) {
      refused_ = fmt::format("{} could not be opened on every thread: {}",
                             plan_.passes[pass][outcome.member].name, RefusalOf(outcome.error));
      workers_.clear();
      return;
    }
    workers_.push_back(std::move(worker));
  }
}

void PerfSource::End() { workers_.clear(); }

std::size_t PerfSource::slots() const {
  std::size_t slots = 0;
  for (const Worker& worker : workers_) {
    for (const auto& group : worker) slots += group->slots();
  }
  return std::max<std::size_t>(slots, 1);
}

void PerfSource::Read(std::uint64_t* raw) noexcept {
  if (workers_.empty()) *raw = 0;
  for (const Worker& worker : workers_) {
    for (const auto& group : worker) {
      // Decode refuses a reading without events.
      if (!group->ReadRaw(raw)) raw[0] = 0;
      raw += group->slots();
    }
  }
}

std::vector<EventCount> PerfSource::FoldWorkers(std::span<const Worker> workers,
                                                std::span<const std::uint64_t> before,
                                                std::span<const std::uint64_t> after) const {
  std::vector<EventCount> counts = AbsentCounts(events_.size(), refused_);
  if (workers.empty()) return counts;
  const std::size_t events = plan_.passes[pass_].size();
  std::vector<Readings> readings(events + plan_.elsewhere.size());
  std::map<std::size_t, std::string> elsewhere_lost = elsewhere_refused_;
  std::size_t at = 0;
  for (const Worker& worker : workers) {
    for (std::size_t g = 0; g < worker.size(); ++g) {
      const auto from = worker[g]->Decode(before.subspan(at, worker[g]->slots()));
      const auto to = worker[g]->Decode(after.subspan(at, worker[g]->slots()));
      at += worker[g]->slots();
      const std::size_t first = g == 0 ? 0 : events + g - 1;
      const std::size_t wanted = g == 0 ? events : 1;
      if (from.size() != wanted || to.size() != wanted) {
        if (g == 0) return counts;  // a failed reading
        // (a group without events was refused, or its thread had ended before Begin)
        if (worker[g]->size() == 0) continue;
        elsewhere_lost.emplace(g - 1, fmt::format("{} could not be read on every thread",
                                                  plan_.elsewhere[g - 1].name));
        continue;
      }
      for (std::size_t e = 0; e < wanted; ++e) {
        readings[first + e].before.push_back(from[e]);
        readings[first + e].after.push_back(to[e]);
      }
    }
  }
  for (std::size_t e = 0; e < readings.size(); ++e) {
    const auto sum = e < events ? SumOverThreads : SumOverThreadsThatRan;
    counts[first_of_[pass_] + e] = sum(readings[e].before, readings[e].after);
  }
  for (const auto& [e, reason] : elsewhere_lost) {
    EventCount& count = counts[first_of_[pass_] + events + e];
    count = AbsentCount();
    count.reason = reason;
  }
  return counts;
}

std::vector<EventCount> PerfSource::Fold(std::span<const std::uint64_t> before,
                                         std::span<const std::uint64_t> after) const {
  return FoldWorkers(workers_, before, after);
}

std::vector<ThreadCounts> PerfSource::FoldThreads(std::span<const std::uint64_t> before,
                                                  std::span<const std::uint64_t> after) const {
  std::vector<ThreadCounts> threads;
  if (!kind_.by_thread) return threads;
  std::size_t at = 0;
  for (const Worker& worker : workers_) {
    std::size_t slots = 0;
    for (const auto& group : worker) slots += group->slots();
    threads.push_back(
        {static_cast<int>(threads.size()),
         FoldWorkers(std::span(&worker, 1), before.subspan(at, slots), after.subspan(at, slots))});
    at += slots;
  }
  return threads;
}

std::vector<pid_t> ThreadsOfProcess() {
  std::vector<pid_t> threads = {0};
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  for (const pid_t thread : ThreadsOfThisProcess()) {
    if (thread != own) threads.push_back(thread);
  }
  return threads;
}

}  // namespace topdnn
