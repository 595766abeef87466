// Times the stages of steps that the caller runs, mark by mark. MeasureSequence (harness/measure)
// runs the stages itself; here a program in another language has its own loop. The rules are the
// same: a warm-up until the steps are steady, the accounts of every sample, the undisturbed ones.
//
// Between the two marks of a stage this code does not allocate or lock.

#ifndef TOPDNN_HARNESS_C_API_STEP_METER_H_
#define TOPDNN_HARNESS_C_API_STEP_METER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/measure/measure.h"
#include "harness/measure/scheduler_watch.h"
#include "harness/measure/span_marker.h"
#include "harness/statistics/steady.h"

namespace topdnn {

// The most numbers that a meter keeps (256 MiB); it takes no more steps then.
inline constexpr std::size_t kMostStepNumbers = std::size_t{1} << 25;

class StepMeter {
 public:
  struct StageName {
    std::string name, pass;
  };
  // What TakeSamples() found besides the times.
  struct Samples {
    SequenceSamples sequence;
    std::vector<std::size_t> stages;  // which stages it has
    std::int64_t other_steps = 0;     // timed steps with other stages, which are left out
    bool only_warmup = false;         // the loop ended in the warm-up, whose steps are the samples
  };

  // `seconds`: of timed steps, for Next. `empty_seconds`: of an empty stage; absent: measured.
  StepMeter(double seconds, std::optional<double> empty_seconds);

  // The number of a stage; makes it if there is none of this name and pass.
  std::int32_t Stage(std::string_view name, std::string_view pass);

  // Each throws InputError for a mark that does not fit the ones before it.
  bool Next();
  void BeginStep();
  void EndStep();
  void BeginStage(std::int32_t stage);
  void EndStage();

  // Of the stage that ended last, with an empty stage in them.
  double LastSeconds() const { return static_cast<double>(last_) * clock_.seconds_per_tick; }
  std::int64_t steps() const { return static_cast<std::int64_t>(rows_.size()); }
  const std::vector<StageName>& stages() const { return stages_; }
  // Of the steps so far. Throws InputError without a whole step.
  Samples TakeSamples();

 private:
  struct Row {
    std::optional<double> seconds;  // absent: the clock went backwards
    std::vector<double> stages;     // seconds, without empty stages
    std::vector<bool> ran;
    std::int64_t switches = 0;
    std::size_t reading = 0;  // index of the reading of the scheduler's accounts
  };
  struct Running {  // the step that runs
    std::uint64_t begin = 0, end = 0;
    std::vector<std::uint64_t> ticks;  // by stage
    std::vector<std::int64_t> calls;
    std::int64_t switches = 0;  // before it
    bool backwards = false;
  };

  void Open();
  void Close(std::uint64_t end);
  void WarmedUp(double step_seconds);
  void OpenReading();
  void CloseReading();
  void ReadAgainIfDue();
  double Since(std::uint64_t ticks) const;
  std::string NameOf(std::int32_t stage) const;
  std::vector<double> WaitedShares() const;

  MeasureOptions options_;
  TickClock clock_;
  double empty_seconds_;
  std::vector<StageName> stages_;

  bool marked_ = false;  // the caller marks the steps
  bool in_step_ = false;
  std::int32_t open_ = -1;   // the stage that runs
  std::int32_t first_ = -1;  // of a step that the caller does not mark
  std::uint64_t stage_begin_ = 0;
  std::uint64_t last_ = 0;  // ticks of the stage that ended last
  Running now_;

  std::vector<Row> rows_;  // with those of the warm-up
  std::size_t numbers_ = 0;
  SteadyWatch steady_;
  Warmup warmup_;
  std::uint64_t opened_at_;
  std::optional<std::uint64_t> timed_at_;  // when the warm-up ended
  KernelAccounts accounts_;                // at this time
  std::vector<SpanMark> marks_;
  std::unique_ptr<SpanMarker> marker_;

  std::unique_ptr<SchedulerWatch> watch_;
  std::uint64_t threads_ = 0;           // that the process had when the watch was made
  std::vector<double> waited_seconds_;  // by reading
  std::uint64_t reading_begin_ = 0;
  std::uint64_t waited_before_ = 0;
  std::int64_t undisturbed_ = 0;
  std::int64_t in_reading_ = 0;  // steps of the reading that is open
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_C_API_STEP_METER_H_
