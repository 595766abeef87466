// The iterations that read the counter sources, or that the sources run themselves. They follow the
// timed ones, since reading events is a system call, which would add to the stages' times.

#ifndef TOPDNN_HARNESS_MEASURE_COUNTED_PASSES_H_
#define TOPDNN_HARNESS_MEASURE_COUNTED_PASSES_H_

#include <span>

#include "harness/counters/clock.h"
#include "harness/measure/measure.h"

namespace topdnn {

// Lists the events of all sources in the samples. The samples must already have their stages.
void ListEvents(const MeasureOptions& options, SequenceSamples& samples);

// Runs the sequence for the sources that are read, in as many passes as the source with the most
// passes needs, and then for each source that runs the regions itself. Adds the counts to the
// samples.
void CountSequence(std::span<const TimedStage> stages, const MeasureOptions& options,
                   const TickClock& clock, SequenceSamples& samples);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_COUNTED_PASSES_H_
