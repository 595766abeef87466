#include "bench/cases/kernel_timing.h"

#include <utility>

#include "bench/command_line/interrupt.h"
#include "bench/workload/record_work.h"
#include "harness/machine/clock.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/measure.h"
#include "harness/results/stage_record.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

MeasuredKernel MeasureKernel(const std::string& name, KernelCase& kernel,
                             const KernelTiming& timing) {
  const ThreadWidth width(kernel.threads());
  auto run = [&kernel]() noexcept { kernel.Run(); };
  auto flush = [&kernel] { kernel.FlushInputs(); };
  const TimedStage stage{name, Action::Of(run)};
  MeasureOptions options;
  options.iterations = timing.iterations;
  options.seconds = timing.seconds;
  options.cancel = &InterruptFlag();
  if (timing.warm) options.most_warmup_iterations = 1;
  options.sources = timing.sources;
  if (timing.reads_clock || AnyRunsRegion(timing.sources)) options.core_hertz = ReadCoreHertz;
  options.most_warmup_seconds = 0.5;
  SequenceSamples measured = timing.cold
                                 ? MeasureIsolatedCold(stage, {}, Action::Of(flush), options)
                                 : MeasureIsolatedHot(stage, {}, options);
  Record record =
      RecordOf(measured.stages.front(), measured.events, JudgeWholeRun(measured.disturbance),
               timing.cold ? "isolated-cold" : "isolated-hot");
  record.speeds = SpeedsAround(measured.disturbance);
  AddRunCounts(measured.stages.front(), measured.run_events, record);
  record.backend = kernel.backend();
  record.implementation = kernel.kernel().implementation();
  record.isa = kernel.kernel().isa();
  SetWork(kernel.work(), record);
  return {std::move(record), std::move(measured)};
}

}  // namespace topdnn
