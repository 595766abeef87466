// The record of one measurement. Every report (console, JSON, CSV) and every Google Benchmark row
// is made from records.

#ifndef TOPDNN_HARNESS_RESULTS_RECORD_H_
#define TOPDNN_HARNESS_RESULTS_RECORD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/bounds/bound_by.h"
#include "harness/bounds/roofline.h"
#include "harness/bounds/topdown_bounds.h"
#include "harness/bounds/topdown_tree.h"
#include "harness/hot/hot_loops.h"
#include "harness/measure/disturbance.h"
#include "harness/results/experiment_results.h"
#include "harness/results/fed_step.h"
#include "harness/results/json_value.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/status.h"
#include "harness/statistics/summary.h"

namespace topdnn {

// One stage (or a whole step) under one regime. Values that were not measured are absent.
struct Record {
  std::string name;     // "conv1"
  std::string op;       // "conv"
  std::string pass;     // "forward", "backward_data", ..., "update", "reorder", "loss"
  std::string regime;   // "in-network", "isolated-hot", "isolated-cold"
  std::string backend;  // whose code runs: "onednn", "native"; empty: not a kernel
  std::string implementation;
  std::string framework_op;  // the operation of a framework that it stands for; empty: of none
  std::string isa;
  Status status = Status::kOk;
  std::string reason;  // required unless OK

  std::optional<Summary> seconds;  // of the undisturbed samples
  // The 95 % interval of their median; the validity pass widens it by what the speeds around them
  // explain. Absent below 6 samples.
  std::optional<Interval> seconds_interval;
  // Samples that are not among them, by reason: "waited for a CPU" (harness/measure/undisturbed.h).
  std::map<std::string, std::int64_t> left_out;
  Speeds speeds;  // the speeds around the measurement
  // The times that `seconds` summarises, in the order of the iterations; thinned evenly if there
  // are more than kMostSamples.
  std::vector<double> samples;
  // For every measured regime, including this record's own; empty unless requested.
  std::map<std::string, Summary> seconds_by_regime;
  std::optional<double> flops;                     // analytic
  std::optional<double> flops_without_padding;     // of these, without those on padding
  std::optional<double> flops_counted;             // executed, as counted
  std::optional<double> bytes;                     // compulsory traffic
  std::optional<double> ceiling_flops_per_second;  // measured, of the ISA that ran
  std::string ceiling_name;                        // which ceiling that is
  Verdict ceiling_verdict;                         // INVALID: the ceiling has a name, but no value

  std::map<std::string, std::optional<double>> events;  // per iteration
  std::optional<double> running_fraction;               // the lowest of all events
  // The events by thread, if a source counts threads separately; 0 is the thread that calls the
  // stage.
  std::map<int, std::map<std::string, std::optional<double>>> thread_events;
  // Why flops_counted or events are absent, or how they were counted, if known.
  std::string counts_reason;
  std::optional<std::map<std::string, std::optional<double>>> topdown;
  std::optional<TopdownBounds> topdown_bounds;  // an estimate; never shown among measured values
  // Why there are no bounds although instructions were counted; empty if there are bounds, or no
  // instructions were counted.
  std::string bounds_reason;
  // The split by an experiment (harness/experiments), with the bounds that complete it; absent
  // unless an experiment was asked for.
  std::optional<TopdownBounds> topdown_experiment;
  std::string experiment_reason;  // why the experiment does not hold for this record; or empty
  // The results of the other experiments, if one of them was asked for, or why there are none.
  std::optional<WidthResult> width_experiment;
  std::string width_reason;
  std::vector<BandwidthResult> bandwidth_experiment;
  std::string bandwidth_reason;
  std::optional<CoreResult> core_experiment;
  // 95 %: the share of its time, over all threads, in which threads wait for each other. It comes
  // with core_experiment; absent on one thread.
  std::optional<Interval> waiting;
  // That operands or results have denormals, which make some CPUs 100 times slower; or empty.
  std::string denormals;
  std::string core_reason;  // why there is no core_experiment although it was asked for; or empty
  std::optional<DenormalsResult> denormals_experiment;
  std::optional<PagesResult> pages_experiment;
  // Every kind of evidence together, and what limits the record; why there is none, or why part of
  // the evidence is not used. A DEGRADED record has them, too, if they hold all the same.
  std::optional<TopdownTree> tree;
  std::string tree_reason;
  std::optional<BoundBy> bound_by;
  std::string bound_by_reason;
  std::optional<Roofline> roofline;
  std::optional<HotLoops> hot;
  std::string hot_reason;  // why there are no loops, if they were asked for; or empty

  // The median time. A failed record may still contain its samples, but they give no figures.
  std::optional<double> Median() const;
  // The mean count of an event; absent if it was not counted.
  std::optional<double> Event(std::string_view event) const;
  // FLOPs as defined over the median time, in 1e9 per second; absent if either is.
  std::optional<double> Gflops() const;
  // The FLOPs to compare with the ceiling: as defined, or as counted if fewer were executed
  // (Winograd, skipped padding). Comparisons, as in max pooling, are not floating-point events, so
  // a count below a tenth of the definition is not used.
  std::optional<double> FlopsForCeiling() const;
  // Bytes that the memory controllers moved, per second of the median time; absent without their
  // counts.
  std::optional<double> DramBytesPerSecond() const;
  // Share of the ceiling reached, by FlopsForCeiling.
  std::optional<double> PeakFraction() const;
};

// A sentence for the reader.
struct Note {
  // The basis of the sentence. The validity pass removes the note if its basis does not hold.
  enum class Basis {
    kFact,      // counts, plans, paired measurements with their interval: holds by itself
    kStep,      // the time of the step in the network
    kIsolated,  // the step's time, and the times of the stages by themselves
    kCeiling,   // the step's share of its ceiling
  };
  std::string text;
  Basis basis = Basis::kFact;
  bool main = false;  // printed without --explain
};

// The stages of one pass together; see harness/results/groups.h. A figure is absent if any stage
// lacks its part.
struct GroupSummary {
  std::string name;  // "forward", "backward", ...
  int stages = 0;
  std::optional<double> seconds{};         // the median of an iteration, or the sum of medians
  std::optional<Summary> per_iteration{};  // of the sums per iteration; absent: sum of medians
  std::optional<double> gflops{};
  std::optional<double> peak_fraction{};  // when all stages have one ceiling
  std::optional<TopdownTree> tree{};      // of its stages, weighted by their times
  std::optional<BoundBy> bound_by{};
};

// A run: its records and what is needed to repeat it.
struct Report {
  std::string command;
  JsonValue machine;  // harness/machine's description
  // The subject, in the caller's terms and order: {"network", "cnn"}, {"batch", 64}, ...
  std::vector<std::pair<std::string, JsonValue>> subject;
  Record step;  // the whole
  std::optional<double> items_per_step;
  std::optional<FedStep> fed_step;  // the same step, fed by the input pipeline; if requested
  std::optional<double> measuring_seconds;  // warm-up and measuring, of the whole run
  std::vector<Record> stages;
  std::vector<GroupSummary> groups;
  // The step's median minus the groups' times. It differs from 0 because a sum of medians is not
  // the median of a sum, and, if the stages were measured by themselves, because the step was
  // measured in sequence.
  std::optional<double> remainder_seconds;
  bool partial = false;               // interrupted: some stages are missing
  std::vector<std::string> warnings;  // of what was asked for and is not done; printed first
  std::vector<Note> notes;            // warm-up, overhead, gaps
  JsonValue evolution;                // see harness/report/evolution.h; null: not asked for
  JsonValue memory;                   // {"live_bytes": [per stage], ...}; null: unknown

  // Items over the step's median time; absent if either is, or if the step FAILED.
  std::optional<double> ItemsPerSecond() const;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_RECORD_H_
