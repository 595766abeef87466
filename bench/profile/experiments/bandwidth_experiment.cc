// The experiment on bandwidth: threads on CPUs that the plan does not use read from the last cache
// or from DRAM at a set rate, and the steps with and without them are timed in turn.

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/experiments.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/stage_calls.h"
#include "harness/counters/clock.h"
#include "harness/experiments/antagonist.h"
#include "harness/experiments/experiment_error.h"
#include "harness/experiments/interleaved.h"
#include "harness/experiments/ratios.h"
#include "harness/machine/thread_cpus.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

constexpr const char* kResources[] = {"llc", "dram"};
constexpr double kBestRateSeconds = 0.1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Readers of one resource.
struct Readers {
  std::string resource;
  std::unique_ptr<Antagonist> antagonist;
  double best_rate = 0;  // bytes per second alone
};

// A level of the readers.
struct Level {
  Readers* readers;
  double rate;                // bytes per second that they try to read; infinity: no limit
  std::vector<double> taken;  // by round: what they read, as a share of their best rate
};

struct BandwidthTimes {
  std::vector<std::string> resources;
  std::vector<Level> levels;  // two for each resource, the stronger one last
  ConditionTimes times;       // without readers, then by level
  ConditionTimes waited;      // RoundOptions::waited
};

// Bytes for each reader; 0 if there is no such resource, or too little memory for it.
std::size_t WorkingSetFor(const std::string& resource, const ExperimentSubject& subject,
                          const CpuDivision& cpus) {
  std::string note;
  return WorkingSet(subject.topology, resource, static_cast<int>(cpus.others.size()), MemoryLimit(),
                    note);
}

void CheckBandwidthSubject(const ExperimentSubject& subject) {
  if (WidestProbe(ProbeKind::kRead) == nullptr) {
    throw NothingMeasured("--experiment bandwidth: this CPU has no probe that reads memory");
  }
  const int threads = subject.plan.threads();
  const CpuDivision cpus = DivideCpus(subject.topology.cpus_of_cores, threads);
  if (cpus.others.empty()) {
    const std::size_t all = subject.topology.allowed.size();
    throw UsageError(fmt::format(
        "--experiment bandwidth: needs a CPU beside the {} threads of the plan, and {} CPUs may be "
        "used: {}",
        threads, all, all > 1 ? fmt::format("set --threads {} or less", all - 1) : "add a CPU"));
  }
  std::size_t bytes = 0;
  for (const char* resource : kResources) {
    bytes += WorkingSetFor(resource, subject, cpus) * cpus.others.size();
  }
  RequireMemory(bytes, "the readers of --experiment bandwidth", "use a smaller --batch");
}

std::vector<Readers> StartReaders(const ExperimentSubject& subject, const CpuDivision& cpus) {
  std::vector<Readers> all;
  for (const char* resource : kResources) {
    const std::size_t bytes = WorkingSetFor(resource, subject, cpus);
    if (bytes == 0) continue;
    Readers readers{.resource = resource,
                    .antagonist = std::make_unique<Antagonist>(*WidestProbe(ProbeKind::kRead),
                                                               cpus.others, bytes)};
    readers.best_rate = BestRateOf(*readers.antagonist, kBestRateSeconds);
    all.push_back(std::move(readers));
  }
  return all;
}

// Starts the readers at one level, stops them, and records the share that they took meanwhile.
class BesideLevel {
 public:
  BesideLevel(Level* level, const TickClock& clock) : level_(level), clock_(clock) {}
  void Enter() {
    level_->readers->antagonist->Take(level_->rate);
    bytes_ = level_->readers->antagonist->bytes();
    begin_ = clock_.now();
  }
  void Leave() {
    const double bytes = level_->readers->antagonist->bytes() - bytes_;
    const double seconds = clock_.SecondsBetween(begin_, clock_.now()).value_or(0);
    level_->readers->antagonist->Take(0);
    level_->taken.push_back(bytes / seconds / level_->readers->best_rate);
  }

 private:
  Level* level_;
  TickClock clock_;
  double bytes_ = 0;
  std::uint64_t begin_ = 0;
};

BandwidthTimes MeasureBandwidth(const ExperimentSubject& subject) {
  const CpuDivision cpus = DivideCpus(subject.topology.cpus_of_cores, subject.plan.threads());
  const ProcessOnCpus placed(cpus.measured);
  if (!placed.failure().empty()) throw ExperimentError(placed.failure());
  std::vector<Readers> readers = StartReaders(subject, cpus);
  BandwidthTimes measured;
  for (Readers& of_resource : readers) {
    measured.resources.push_back(of_resource.resource);
    for (const double rate : {of_resource.best_rate / 2, kInfinity}) {
      measured.levels.push_back({.readers = &of_resource, .rate = rate, .taken = {}});
    }
  }
  const ThreadWidth width(subject.plan.threads());
  const StageCalls calls(subject.plan);
  auto feed = [&subject] { subject.images.FillNext(subject.plan); };
  const TickClock clock = BestClock();
  std::vector<BesideLevel> beside;
  for (Level& level : measured.levels) beside.emplace_back(&level, clock);
  std::vector<Condition> conditions = {
      {.stages = calls.stages(), .before_iteration = Action::Of(feed)}};
  for (BesideLevel& level : beside) {
    conditions.push_back({.stages = calls.stages(),
                          .before_iteration = Action::Of(feed),
                          .enter = [&level] { level.Enter(); },
                          .leave = [&level] { level.Leave(); }});
  }
  measured.times = RunRounds(subject, conditions, measured.waited);
  ThrowOnRunFailure();
  for (Level& level : measured.levels) level.readers = nullptr;  // `readers` is destroyed here
  return measured;
}

// `own`: without readers, then by level.
std::vector<BandwidthResult> ResultsOf(const BandwidthTimes& measured, const RecordRounds& own) {
  std::vector<BandwidthResult> results;
  for (std::size_t k = 0; k < measured.resources.size(); ++k) {
    std::vector<BesideReaders> levels;
    for (const std::size_t level : {2 * k, 2 * k + 1}) {
      // (`taken` may include an interrupted round, which `seconds` leaves out)
      levels.push_back({.taken = ValuesAt(measured.levels[level].taken, own.rounds),
                        .seconds = own.seconds[level + 1]});
    }
    const auto result = SensitivityOf(measured.resources[k], own.seconds.front(), levels);
    if (result) results.push_back(*result);
  }
  return results;
}

void AddTo(const BandwidthTimes& measured, Report& report) {
  constexpr const char* kTooFewRounds =
      "fewer than 6 rounds in which the readers took bandwidth: their CPUs are busy, or the run "
      "was interrupted";
  if (measured.times.front().size() != report.stages.size()) return;  // interrupted
  AddRounds(measured.times, measured.waited, report,
            [&](std::size_t, const RecordRounds& own, Record& record) {
              record.bandwidth_reason = own.why_not;
              if (!own.why_not.empty()) return;
              record.bandwidth_experiment = ResultsOf(measured, own);
              if (record.bandwidth_experiment.empty()) record.bandwidth_reason = kTooFewRounds;
            });
}

AddExperiment RunBandwidth(const ExperimentSubject& subject) {
  const CpuDivision cpus = DivideCpus(subject.topology.cpus_of_cores, subject.plan.threads());
  return [measured = MeasureBandwidth(subject), shared = cpus.share_cores](const BoundsMachine&,
                                                                           Report& report) {
    AddTo(measured, report);
    if (!shared) return;
    report.notes.push_back(
        {.text = "--experiment bandwidth: the readers ran on hyperthreads of the plan's cores, so "
                 "they took parts of these cores as well: use fewer --threads",
         .main = true});
  };
}

const ExperimentRegistration kBandwidth(
    {.name = "bandwidth",
     .help = "how much slower each stage is beside threads that read from the last cache or "
             "from DRAM on other CPUs",
     .regimes = {Regime::kInNetwork},
     .check = CheckBandwidthSubject,
     .run = RunBandwidth});

}  // namespace

}  // namespace topdnn
