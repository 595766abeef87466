// The tables of a run: each is empty if the report lacks its figures. Also the tables of ceilings
// and of experiments on known code.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_TABLES_H_
#define TOPDNN_HARNESS_REPORT_TABLES_TABLES_H_

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/experiments/known_mixes.h"
#include "harness/hot/hot_loops.h"
#include "harness/probes/ceilings.h"
#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// ---- Counted.

// The Top-Down profile: one line per stage and one for the step, if it has a profile: the nodes of
// level 1, and Memory_Bound and Core_Bound of level 2.
std::string TopdownTableText(const Report& report, const Style& style);

// The DRAM traffic of each stage as the memory controllers counted it, next to the stage's
// compulsory bytes. The excess is data that was evicted and fetched again, or a neighbour's
// traffic.
std::string DramTableText(const Report& report, const Style& style);

// The energy of each long stage, of the step and of an image, as the CPU counted it or an external
// meter read it.
std::string EnergyTableText(const Report& report, const Style& style);
// The event of an external meter, in joules: of the whole machine.
inline constexpr const char* kMeterEvent = "energy/meter";

// The loops with a listing, with their instructions. `name`: "conv1 forward".
std::string HotLoopsText(const std::string& name, const std::string& implementation,
                         const HotLoops& hot);
// The listed loops alone.
std::string ListedLoopsText(const HotLoops& hot);
// Of all stages, and why a stage has none if others have.
std::string HotTableText(const Report& report);

// ---- Derived: separate from the measured stages, under a heading that says what they are.

// Top-Down bounds. A line for each stage that has bounds, and one for the step: intervals in
// percent of the slots, and a strip of their lower ends. Below it is each reason for missing
// bounds, once. `what` is the name of the first column.
std::string BoundsTable(const Report& report, const Style& style,
                        const std::string& what = "stage");
// The bound of a node; null if there is none.
const Bound* FindBound(const TopdownBounds& bounds, const char* node);
// "12-38", in percent, rounded outward; `absent` if the bound is null.
std::string BoundText(const Bound* bound, std::string_view absent);

// A line for each stage that has a roofline: FLOP/s, intensities, the lowest roof, and the share of
// that roof.
std::string RooflineTable(const Report& report, const Style& style);

// ---- Experiments.

// The memory experiment. With the counts of a PMU, the PMU's Memory_Bound is printed next to the
// interval, with its distance from the interval. It includes the waits for L1, L2 and stores, so it
// may be above the interval.
std::string ExperimentTable(const Report& report, const Style& style,
                            const StageTableOptions& stages = {});
// One line for each of the `count` stages in which memory costs the step the most time, or fewer:
// "conv4 backward weights: 41 % (38 to 44) waits for memory: at most 1.8 x faster without these
// waits, and at most 2.6 x with fewer instructions".
std::string ExperimentAdvice(const Report& report, const Style& style, std::size_t count);

// The time with data in L1, the speedup by the number of threads, the bandwidth by the resource.
std::string CoreTable(const Report& report, const Style& style,
                      const StageTableOptions& stages = {});
std::string WidthTable(const Report& report, const Style& style,
                       const StageTableOptions& stages = {});
std::string BandwidthTable(const Report& report, const Style& style,
                           const StageTableOptions& stages = {});

// Denormals and pages: the factor between two conditions.
std::string DenormalsTable(const Report& report, const Style& style,
                           const StageTableOptions& stages = {});
std::string PagesTable(const Report& report, const Style& style,
                       const StageTableOptions& stages = {});

// "1.62-1.71", rounded outward.
inline std::string FactorInterval(const Interval& interval) {
  return fmt::format("{:.2f}-{:.2f}", std::floor(interval.low * 100) / 100,
                     std::ceil(interval.high * 100) / 100);
}

// An experiment on known code, as a table and as JSON. `what`: the title of the first column.
std::string MixesText(std::string_view what, const std::vector<MixResult>& mixes,
                      const Style& style);
nlohmann::ordered_json ToJson(const MixResult& mix);

// ---- The measured ceilings, as `topdnn machine` prints them.

// One screen: a table of multiply-adds by ISA and type, and one of memory by level. A DEGRADED
// value is marked with a star; instead of an INVALID value, the word is shown. The first six
// reasons are listed below the tables, those of INVALID values first.
std::string CeilingTable(const std::vector<Ceiling>& ceilings, const Style& style);
// One row for each ceiling, with its spread, verdict and note; absent ceilings are listed, too.
std::string CeilingList(const std::vector<Ceiling>& ceilings, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_TABLES_H_
