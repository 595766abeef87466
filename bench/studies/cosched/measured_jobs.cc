#include "bench/studies/cosched/measured_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "harness/measure/watched_run.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(1);
// Longer than any measurement; the job is stopped when it has been measured.
constexpr std::int64_t kEndless = 1'000'000'000;

}  // namespace

double SecondsBetween(CoschedClock::time_point begin, CoschedClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::string KindText(const TraceJob& job) {
  return fmt::format("{} {} batch {}", job.network, PassOf(job), job.batch);
}

MeasuredJobs::MeasuredJobs(std::vector<TraceJob> jobs, int width, const SpeedSettings& settings)
    : jobs_(std::move(jobs)), settings_(settings) {
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    jobs_[j].steps = kEndless;
    jobs_[j].min_width = 1;
    jobs_[j].max_width = static_cast<int>(settings.cpus.size());
    processes_.push_back(std::make_unique<JobProcess>(jobs_[j], width, fmt::format("measured{}", j),
                                                      settings.launch));
    processes_.back()->SetCpus(settings.cpus);
  }
}

void MeasuredJobs::RunOnly(const std::vector<std::size_t>& group) {
  for (std::size_t j = 0; j < size(); ++j) {
    if (std::find(group.begin(), group.end(), j) != group.end()) {
      processes_[j]->Resume();
    } else {
      processes_[j]->Pause();
    }
  }
}

void MeasuredJobs::Await(const std::function<bool()>& done) {
  for (;;) {
    if (IsCancelled(settings_.cancel)) throw MeasureCancelled();
    for (std::size_t j = 0; j < size(); ++j) {
      processes_[j]->Poll(CoschedClock::now());
      if (!processes_[j]->ended()) continue;
      const std::string& fault = processes_[j]->fault();
      throw RunFailure(fmt::format("the job {} {}", KindText(jobs_[j]),
                                   fault.empty() ? "ended too early" : fault));
    }
    if (done()) return;
    std::this_thread::sleep_for(kPollInterval);
  }
}

void MeasuredJobs::Sleep(double seconds) {
  const auto until = CoschedClock::now() + std::chrono::duration<double>(seconds);
  Await([&] { return CoschedClock::now() >= until; });
}

double MeasuredJobs::AwaitFirstStep() {
  JobProcess& job = *processes_[0];
  Await([&] {
    job.AskNow();
    return job.status() && job.status()->iterations > 0;
  });
  return SecondsBetween(job.begin(), CoschedClock::now());
}

MeasuredJobs::Reading MeasuredJobs::Read(std::size_t job) {
  JobProcess& process = *processes_[job];
  const auto since = CoschedClock::now();
  Await([&] {
    process.AskNow();
    return process.status() && process.answered() >= since;
  });
  return {process.answered(), process.status()->iterations};
}

MeasuredJobs::Reading MeasuredJobs::StepEnd(std::size_t job) {
  const std::int64_t before = Read(job).iterations;
  for (;;) {
    const Reading reading = Read(job);
    if (reading.iterations > before) return reading;
  }
}

void MeasuredJobs::AwaitWidth(std::size_t job, int width) {
  JobProcess& process = *processes_[job];
  process.SetWidth(width);
  Await([&] {
    process.AskNow();
    return process.status() && process.status()->width == width;
  });
  StepEnd(job);
}

double MeasuredJobs::StepSeconds(std::size_t job, double window) {
  const Reading begin = StepEnd(job);
  Sleep(window);
  const Reading end = StepEnd(job);
  return SecondsBetween(begin.time, end.time) /
         static_cast<double>(end.iterations - begin.iterations);
}

double MeasuredJobs::EndSeconds() {
  const auto begin = StepEnd(0).time;
  processes_[0]->Stop();
  AwaitEnd(0);
  return SecondsBetween(begin, processes_[0]->end());
}

double MeasuredJobs::EndAll() {
  for (const auto& process : processes_) process->Stop();
  double seconds = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    AwaitEnd(j);
    seconds += processes_[j]->cpu_seconds();
  }
  return seconds;
}

void MeasuredJobs::AwaitEnd(std::size_t job) {
  JobProcess& process = *processes_[job];
  while (!process.ended()) {
    process.Poll(CoschedClock::now());
    std::this_thread::sleep_for(kPollInterval);
  }
  if (process.fault().empty()) return;
  throw RunFailure(fmt::format("the job {} {}", KindText(jobs_[job]), process.fault()));
}

}  // namespace topdnn
