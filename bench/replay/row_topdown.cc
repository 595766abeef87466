#include "bench/replay/row_topdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "bench/profile/limits/stage_topdown.h"
#include "harness/bounds/topdown_bounds.h"
#include "harness/machine/cpu.h"
#include "harness/machine/topology.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {

RowCounting RowCounting::Here(std::vector<CounterSource*> sources) {
  const Cpu cpu = IdentifyCpu();
  return {.sources = std::move(sources),
          .table = TopdownTableOf(cpu),
          .pipeline = PipelineOf(cpu),
          .smt = SmtIsActive()};
}

RowTopdown::RowTopdown(const RowCounting& counting, const std::vector<Ceiling>& ceilings,
                       int threads)
    : counting_(counting), threads_(threads) {
  machine_.pipeline = counting.pipeline;
  machine_.ceilings = ceilings;
  machine_.caches = ReadTopology().caches;
  machine_.regime = "isolated-hot";
  if (AnyRunsRegion(counting.sources)) before_ = ReadRates();
}

void RowTopdown::Add(MeasuredKernel& hot) {
  AddMeasured(hot);
  machine_.seen = hot.samples.disturbance;
  if (before_) {
    const CoreRates after = ReadRates();
    machine_.rates = Joined(*before_, after);
    before_ = after;
  }
  AddBounds(machine_, hot.record);
}

CoreRates RowTopdown::ReadRates() const {
  constexpr int kMostReadings = 8;
  CoreRates rates = MeasureCoreRates(threads_);
  for (int i = 1; i < kMostReadings && !WhyRatesAreUnusable(rates, machine_.pipeline).empty();
       ++i) {
    rates = MeasureCoreRates(threads_);
  }
  return rates;
}

void RowTopdown::AddMeasured(MeasuredKernel& hot) {
  if (counting_.table == nullptr || hot.samples.events.empty()) return;
  const TopdownTable& table = *counting_.table;
  const TopdownResult result = AddTopdown(table, counting_.smt, hot.samples, hot.record);
  if (!hot.record.topdown || !notes_.empty()) return;
  notes_.push_back(fmt::format("Top-Down of {} by {} ({})", table.cpu, result.path, table.source));
  if (!table.note.empty()) notes_.push_back(table.note);
  if (!result.missing.empty()) {
    notes_.push_back(fmt::format("not counted: {}", fmt::join(result.missing, " ")));
  }
}

}  // namespace topdnn
