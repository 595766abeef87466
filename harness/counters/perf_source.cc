#include "harness/counters/perf_source.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>

namespace topdnn {

PerfSource::PerfSource(PerfSyscalls calls, PerfPlan plan,
                       std::function<std::vector<pid_t>()> threads)
    : calls_(std::move(calls)),
      plan_(std::move(plan)),
      threads_(threads ? std::move(threads) : ThreadsOfProcess) {
  std::map<std::string, int> seen;
  for (std::size_t pass = 0; pass < plan_.passes.size(); ++pass) {
    first_of_.push_back(events_.size());
    for (const ResolvedEvent& event : plan_.passes[pass]) {
      const int times = ++seen[event.name];
      events_.push_back(times == 1 ? event.name : fmt::format("{}#{}", event.name, times));
      pass_of_.push_back(pass);
    }
  }
}

void PerfSource::Begin(std::size_t pass) {
  End();
  pass_ = pass;
  refused_.clear();
  for (const pid_t thread : threads_()) {
    auto group = std::make_unique<PerfGroup>(calls_);
    const OpenOutcome outcome = group->Open(plan_.passes.at(pass), thread, false);
    if (outcome.error == ESRCH && thread != 0) continue;  // (it has ended meanwhile)
    if (outcome.error != 0) {
      refused_ = fmt::format("{} could not be opened on every thread: {}",
                             plan_.passes[pass][outcome.member].name, strerror(outcome.error));
      groups_.clear();
      return;
    }
    if (thread == 0) group->MapForUser();
    groups_.push_back(std::move(group));
  }
}

void PerfSource::End() { groups_.clear(); }

std::size_t PerfSource::slots() const {
  std::size_t slots = 0;
  for (const auto& group : groups_) slots += group->slots();
  return std::max<std::size_t>(slots, 1);
}

void PerfSource::Read(std::uint64_t* raw) noexcept {
  if (groups_.empty()) *raw = 0;
  for (const auto& group : groups_) {
    // (a reading of no events is none: Decode refuses it)
    if (!group->ReadRaw(raw)) raw[0] = 0;
    raw += group->slots();
  }
}

std::vector<EventCount> PerfSource::Absent() const {
  return std::vector<EventCount>(
      events_.size(), {.value = std::nullopt, .running_fraction = 0, .reason = refused_});
}

std::vector<EventCount> PerfSource::Fold(std::span<const std::uint64_t> before,
                                         std::span<const std::uint64_t> after) const {
  std::vector<EventCount> counts = Absent();
  if (groups_.empty()) return counts;
  const std::size_t events = plan_.passes[pass_].size();
  std::vector<std::vector<CounterReading>> first(events);
  std::vector<std::vector<CounterReading>> last(events);
  std::size_t at = 0;
  for (const auto& group : groups_) {
    const auto from = group->Decode(before.subspan(at, group->slots()));
    const auto to = group->Decode(after.subspan(at, group->slots()));
    at += group->slots();
    if (from.size() != events || to.size() != events) return counts;  // a failed reading
    for (std::size_t e = 0; e < events; ++e) {
      first[e].push_back(from[e]);
      last[e].push_back(to[e]);
    }
  }
  for (std::size_t e = 0; e < events; ++e) {
    counts[first_of_[pass_] + e] = SumOverThreads(first[e], last[e]);
  }
  return counts;
}

std::vector<ThreadCounts> PerfSource::FoldThreads(std::span<const std::uint64_t> before,
                                                  std::span<const std::uint64_t> after) const {
  std::vector<ThreadCounts> threads;
  std::size_t at = 0;
  for (const auto& group : groups_) {
    const auto from = group->Decode(before.subspan(at, group->slots()));
    const auto to = group->Decode(after.subspan(at, group->slots()));
    at += group->slots();
    ThreadCounts thread{static_cast<int>(threads.size()), Absent()};
    for (std::size_t e = 0; e < std::min(from.size(), to.size()); ++e) {
      thread.counts[first_of_[pass_] + e] =
          SumOverThreads(std::span(&from[e], 1), std::span(&to[e], 1));
    }
    threads.push_back(std::move(thread));
  }
  return threads;
}

std::vector<pid_t> ThreadsOfProcess() {
  std::vector<pid_t> threads = {0};
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size() || id == own) continue;
    threads.push_back(id);
  }
  std::sort(threads.begin() + 1, threads.end());
  return threads;
}

EventCount SumOverThreads(std::span<const CounterReading> before,
                          std::span<const CounterReading> after) {
  const EventCount absent{.value = std::nullopt, .running_fraction = 0};
  double sum = 0;
  double enabled = 0;
  double running = 0;
  for (std::size_t t = 0; t < after.size(); ++t) {
    const bool idle = after[t].enabled == before[t].enabled && after[t].value == before[t].value;
    if (idle) continue;
    const EventCount count = CountBetween(before[t], after[t]);
    if (!count.value) return absent;
    const auto lasted = static_cast<double>(after[t].enabled - before[t].enabled);
    sum += *count.value;
    enabled += lasted;
    running += lasted * count.running_fraction;
  }
  if (!(enabled > 0)) return absent;
  return {.value = sum, .running_fraction = running / enabled};
}

}  // namespace topdnn
