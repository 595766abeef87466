#include "harness/c_api/step_meter.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "harness/measure/disturbance.h"
#include "harness/measure/measure_loop.h"
#include "harness/text/errors.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

// The folder has an entry for each thread, besides "." and "..".
std::uint64_t ThreadsNow() {
  struct stat tasks = {};
  return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink : 0;
}

}  // namespace

StepMeter::StepMeter(double seconds, std::optional<double> empty_seconds)
    : clock_(BestClock()), empty_seconds_(empty_seconds.value_or(0)), opened_at_(0) {
  options_.seconds = seconds;
  marks_.emplace_back();
  if (!empty_seconds) empty_seconds_ = EmptySeconds(clock_);
  opened_at_ = clock_.now();
}

std::string StepMeter::NameOf(std::int32_t stage) const {
  return OneLine(stages_.at(static_cast<std::size_t>(stage)).name);
}

double StepMeter::Since(std::uint64_t ticks) const {
  return clock_.SecondsBetween(ticks, clock_.now()).value_or(0);
}

std::int32_t StepMeter::Stage(std::string_view name, std::string_view pass) {
  if (name.empty()) throw InputError("a stage needs a name");
  const auto known = std::find_if(stages_.begin(), stages_.end(), [&](const StageName& stage) {
    return stage.name == name && stage.pass == pass;
  });
  const auto number = static_cast<std::int32_t>(known - stages_.begin());
  if (known != stages_.end()) return number;
  stages_.push_back({std::string(name), std::string(pass)});
  now_.ticks.push_back(0);
  now_.calls.push_back(0);
  return number;
}

bool StepMeter::Next() {
  if (in_step_) EndStep();
  bool more = true;
  if (timed_at_) {
    const auto done = steps() - static_cast<std::int64_t>(warmup_.iterations);
    const double elapsed = Since(*timed_at_);
    const bool enough = watch_ == nullptr || !watch_->works() ||
                        AreEnough(static_cast<std::size_t>(undisturbed_ + in_reading_),
                                  static_cast<std::size_t>(done));
    const double patience = enough ? 1 : kPatience;
    more = done < options_.least_iterations ||
           (elapsed < patience * options_.seconds &&
            done < static_cast<std::int64_t>(patience) * options_.most_iterations);
    // As MeasureSequence: as long as was asked for, and long enough for the fewest samples of slow
    // steps, twice over.
    const double step = elapsed / static_cast<double>(std::max<std::int64_t>(done, 1));
    const double fewest = 2 * static_cast<double>(options_.least_iterations) * step;
    const double budget = std::max({options_.budget_seconds, options_.seconds, fewest});
    if (elapsed >= budget && done > 0) more = false;
  }
  if (more) BeginStep();
  return more;
}

void StepMeter::BeginStep() {
  if (in_step_ && marked_) throw InputError("a step begins inside of a step: end the first one");
  if (open_ >= 0) {
    throw InputError(fmt::format("a step begins inside of stage '{}'", NameOf(open_)));
  }
  if (in_step_) Close(now_.end);
  marked_ = true;
  Open();
  now_.begin = clock_.now();
}

void StepMeter::EndStep() {
  const std::uint64_t end = clock_.now();
  if (!in_step_ || !marked_) throw InputError("no step runs: there is none to end");
  if (open_ >= 0) {
    throw InputError(fmt::format("a step ends inside of stage '{}'", NameOf(open_)));
  }
  Close(end);
}

void StepMeter::BeginStage(std::int32_t stage) {
  if (stage < 0 || static_cast<std::size_t>(stage) >= stages_.size()) {
    throw InputError(fmt::format("there is no stage {}", stage));
  }
  if (open_ >= 0) {
    throw InputError(fmt::format("stage '{}' begins inside of stage '{}': stages do not nest",
                                 NameOf(stage), NameOf(open_)));
  }
  if (marked_ && !in_step_) {
    throw InputError(fmt::format("stage '{}' runs outside of a step", NameOf(stage)));
  }
  if (!marked_) {
    if (in_step_ && stage == first_) Close(now_.end);
    if (!in_step_) {
      first_ = stage;
      Open();
    }
  }
  open_ = stage;
  stage_begin_ = clock_.now();
  if (now_.begin == 0) now_.begin = stage_begin_;
}

void StepMeter::EndStage() {
  const std::uint64_t end = clock_.now();
  if (open_ < 0) throw InputError("no stage runs: there is none to end");
  const auto stage = static_cast<std::size_t>(open_);
  last_ = end - stage_begin_;
  now_.ticks[stage] += last_;
  ++now_.calls[stage];
  now_.backwards = now_.backwards || end < stage_begin_;
  now_.end = end;
  open_ = -1;
}

void StepMeter::Open() {
  if (rows_.empty()) opened_at_ = clock_.now();  // the warm-up begins with the first step
  if (watch_ == nullptr || ThreadsNow() != threads_) {
    CloseReading();
    watch_ = std::make_unique<SchedulerWatch>();
    threads_ = ThreadsNow();
    OpenReading();
  } else {
    ReadAgainIfDue();
  }
  std::fill(now_.ticks.begin(), now_.ticks.end(), 0);
  std::fill(now_.calls.begin(), now_.calls.end(), 0);
  now_.begin = 0;
  now_.backwards = false;
  now_.switches = InvoluntarySwitches();
  in_step_ = true;
}

void StepMeter::Close(std::uint64_t end) {
  in_step_ = false;
  const std::int64_t switches = InvoluntarySwitches() - now_.switches;
  if (numbers_ > kMostStepNumbers) return;
  Row row{.seconds = {}, .stages = {}, .ran = {}, .switches = switches};
  double empty = 0;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const double own = empty_seconds_ * static_cast<double>(now_.calls[s]);
    const double seconds = static_cast<double>(now_.ticks[s]) * clock_.seconds_per_tick;
    empty += own;
    row.stages.push_back(std::max(0.0, seconds - own));
    row.ran.push_back(now_.calls[s] > 0);
  }
  const std::optional<double> seconds = clock_.SecondsBetween(now_.begin, end);
  if (seconds && !now_.backwards) row.seconds = std::max(0.0, *seconds - empty);
  row.reading = waited_seconds_.size();
  numbers_ += 2 * stages_.size() + 4;
  rows_.push_back(std::move(row));
  ++in_reading_;
  ReadAgainIfDue();
  if (!timed_at_) {
    WarmedUp(seconds.value_or(0));
  } else {
    marker_->BetweenIterations(steps() - static_cast<std::int64_t>(warmup_.iterations), [] {});
  }
}

// Whether the warm-up is over, after a step.
void StepMeter::WarmedUp(double step_seconds) {
  steady_.Add(step_seconds);
  warmup_.steady = steady_.steady();
  warmup_.iterations = rows_.size();
  warmup_.seconds = Since(opened_at_);
  const bool warm = warmup_.steady && warmup_.seconds >= options_.least_warmup_seconds;
  if (!warm && warmup_.seconds < options_.most_warmup_seconds &&
      steps() < options_.most_warmup_iterations) {
    return;
  }
  CloseReading();
  undisturbed_ = 0;
  accounts_ = ReadKernelAccounts();
  marker_ = std::make_unique<SpanMarker>(options_, clock_, accounts_, step_seconds, marks_);
  OpenReading();
  timed_at_ = clock_.now();
}

void StepMeter::OpenReading() {
  waited_before_ = watch_->Waited();
  reading_begin_ = clock_.now();
}

// A reading takes at most kReadingShare of the time.
void StepMeter::ReadAgainIfDue() {
  if (Since(reading_begin_) < watch_->cost_seconds() / kReadingShare) return;
  CloseReading();
  OpenReading();
}

// The steps since the last reading belong to this one.
void StepMeter::CloseReading() {
  if (in_reading_ == 0) return;
  const double seconds = Since(reading_begin_);
  const double waited = 1e-9 * static_cast<double>(watch_->Waited() - waited_before_);
  waited_seconds_.push_back(waited);
  if (waited <= kMaxWaitedOfSample * seconds) undisturbed_ += in_reading_;
  in_reading_ = 0;
}

// By row. Empty: the kernel does not keep the accounts.
std::vector<double> StepMeter::WaitedShares() const {
  if (watch_ == nullptr || !watch_->works()) return {};
  std::vector<double> of_reading(waited_seconds_.size(), 0);
  for (const Row& row : rows_) of_reading[row.reading] += row.seconds.value_or(0);
  std::vector<double> shares;
  for (const Row& row : rows_) {
    const double seconds = of_reading[row.reading];
    shares.push_back(seconds > 0 ? waited_seconds_[row.reading] / seconds : 0);
  }
  return shares;
}

StepMeter::Samples StepMeter::TakeSamples() {
  if (open_ >= 0) {
    throw InputError(fmt::format("stage '{}' still runs: end it first", NameOf(open_)));
  }
  if (in_step_ && !marked_) Close(now_.end);
  in_step_ = false;  // a step that the caller has not ended is not kept
  if (rows_.empty()) throw InputError("there is no whole step: run a step with its stages first");
  CloseReading();
  OpenReading();
  Samples found;
  found.only_warmup = !timed_at_ || rows_.size() == warmup_.iterations;
  // Of a loop that ended in the warm-up, the first step is the warm-up.
  std::size_t first = warmup_.iterations;
  if (found.only_warmup) first = rows_.size() > 1 ? 1 : 0;

  // The stages that most of the steps have.
  std::map<std::vector<bool>, std::size_t> kinds;
  const auto kind_of = [this](const Row& row) {
    std::vector<bool> ran = row.ran;
    ran.resize(stages_.size());
    return ran;
  };
  for (std::size_t i = first; i < rows_.size(); ++i) ++kinds[kind_of(rows_[i])];
  const auto usual = std::max_element(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (usual->first[s]) found.stages.push_back(s);
  }

  SequenceSamples& sequence = found.sequence;
  sequence.clock = clock_.name;
  sequence.step.name = "step";
  sequence.step.empty_seconds = empty_seconds_ * static_cast<double>(found.stages.size());
  sequence.stages.resize(found.stages.size());
  for (std::size_t k = 0; k < found.stages.size(); ++k) {
    sequence.stages[k].name = stages_[found.stages[k]].name;
    sequence.stages[k].empty_seconds = empty_seconds_;
  }
  sequence.warmup = warmup_;
  if (found.only_warmup) sequence.warmup = {.steady = false, .iterations = first, .seconds = 0};
  const std::vector<double> shares = WaitedShares();
  std::vector<std::int64_t> kept_before(1, 0);
  Disturbance& seen = sequence.disturbance;
  for (std::size_t i = first; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (kind_of(row) != usual->first) {
      ++found.other_steps;
    } else if (!row.seconds) {
      ++sequence.step.left_out;
      for (StageSamples& stage : sequence.stages) ++stage.left_out;
    } else {
      sequence.step.seconds.push_back(*row.seconds);
      for (std::size_t k = 0; k < found.stages.size(); ++k) {
        sequence.stages[k].seconds.push_back(row.stages[found.stages[k]]);
        if (!shares.empty()) sequence.stages[k].waited.push_back(shares[i]);
      }
      if (!shares.empty()) sequence.step.waited.push_back(shares[i]);
      sequence.switches.push_back(row.switches);
      seen.seconds += *row.seconds;
      seen.switched_iterations += row.switches > 0 ? 1 : 0;
      seen.involuntary_switches += row.switches;
    }
    kept_before.push_back(static_cast<std::int64_t>(sequence.step.seconds.size()));
  }
  seen.judged = true;
  seen.iterations = static_cast<std::int64_t>(sequence.step.seconds.size());
  if (timed_at_) {
    marker_->AfterIterations(steps() - static_cast<std::int64_t>(warmup_.iterations));
    AddSpent(accounts_, ReadKernelAccounts(), seen);
    sequence.marks = marks_;
    for (SpanMark& mark : sequence.marks) {
      mark.iteration = kept_before.at(static_cast<std::size_t>(mark.iteration));
    }
  }
  SelectSamples(sequence);
  return found;
}

}  // namespace topdnn
