// `topdnn corun`: runs several workloads at once, each in a separate process with its own CPUs, and
// measures what each stage loses to its neighbours.

#include "bench/studies/corun/corun.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/studies/corun/cache_curve.h"
#include "bench/studies/corun/corun_partitions.h"
#include "bench/studies/corun/corun_table.h"
#include "bench/studies/corun/corun_words.h"
#include "harness/files/atomic_file.h"
#include "harness/machine/topology.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/sharing/group.h"
#include "harness/text/split_text.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

constexpr std::size_t kStagesShown = 15;
constexpr int kLeastRounds = 6;  // below it a median has no interval
constexpr int kMostRounds = 1000;

struct CorunOptions {
  std::vector<std::string> workloads;
  std::string matrix;
  int rounds = 8;
  std::string window;
  std::string timeout = "5m";
  std::string counters = "auto";
  std::string json;
  PartitionOptions partitions;
  std::string resctrl = kResctrlRoot;
  bool cache_curve = false;
  bool all = false;
  bool quiet = false;

  bool partitioned() const {
    return !partitions.ways.empty() || !partitions.bandwidth.empty() || partitions.sweep_ways;
  }
};

CorunSettings SettingsOf(const CorunOptions& options) {
  if (options.rounds < kLeastRounds || options.rounds > kMostRounds) {
    throw UsageError(fmt::format("--rounds {}: must be {} to {}: a median of fewer has no interval",
                                 options.rounds, kLeastRounds, kMostRounds));
  }
  CorunSettings settings{.rounds = options.rounds,
                         .most_seconds = ParseDuration("--timeout", options.timeout),
                         .cancel = &InterruptFlag(),
                         .counting = CorunCounting::Here(options.counters)};
  if (!options.window.empty()) settings.window_seconds = ParseDuration("--window", options.window);
  return settings;
}

void CheckOptions(const CommandParser& parser, const CorunOptions& options) {
  if (options.workloads.empty() && options.matrix.empty()) {
    throw UsageError("corun: give workloads, such as --workload 'cnn train' 'probe dram'");
  }
  if (options.cache_curve && options.workloads.size() != 1) {
    throw UsageError(fmt::format("--cache-curve: has {} workloads: give one --workload",
                                 options.workloads.size()));
  }
  if (options.resctrl != kResctrlRoot && !options.partitioned()) {
    throw UsageError("--resctrl: has no effect: give --ways, --bandwidth or --sweep-ways, too");
  }
  const bool alone = options.cache_curve || options.partitioned();
  if (alone && !options.matrix.empty()) {
    throw UsageError(
        "--matrix: its pairs share the caches as they are: leave out --ways, --bandwidth, "
        "--sweep-ways and --cache-curve");
  }
  if (options.cache_curve && options.partitioned()) {
    throw UsageError(
        "--cache-curve: is for a machine without partitions: leave out --ways, --bandwidth and "
        "--sweep-ways");
  }
  if (options.partitions.sweep_ways && !options.partitions.ways.empty()) {
    throw UsageError("--sweep-ways: sets the ways itself: leave out --ways");
  }
  if (options.cache_curve || options.partitions.sweep_ways || options.workloads.empty()) {
    parser.Refuse({"--counters"}, "on a matrix or a curve");
  }
  std::vector<std::string> files;
  std::vector<std::string> workloads = options.workloads;
  for (const std::string& part : SplitAtCommas(options.matrix)) workloads.push_back(part);
  for (const std::string& workload : workloads) {
    for (const std::string_view word : SplitText(workload, " ")) {
      if (IsOnnxPath(std::string(word))) files.emplace_back(word);
    }
  }
  CheckOutputs({options.json}, files);
}

// What a run measures: a group, its pairs, or a curve.
struct Measured {
  CorunGroup group;
  std::optional<std::vector<CorunPair>> matrix;
  std::optional<CacheCurve> curve;
};

Measured MeasureAll(const CorunOptions& options, const std::vector<CorunWorkload>& workloads,
                    const std::vector<CorunWorkload>& of_matrix, const Topology& topology,
                    CorunSettings settings) {
  Measured measured;
  // Lives longer than the processes of its groups.
  std::optional<Partitions> partitions;
  if (options.partitioned()) {
    partitions.emplace(OpenResctrlFiles(options.resctrl), options.partitions, workloads.size());
    settings.partitions = &*partitions;
  }
  if (options.cache_curve) {
    measured.curve = RunCacheCurve(workloads.front(), topology, settings);
  } else if (options.partitions.sweep_ways) {
    measured.curve = RunWaysSweep(workloads, topology, *partitions, settings);
  } else if (!workloads.empty()) {
    measured.group = RunCorun(workloads, topology, settings);
  }
  if (of_matrix.empty()) return measured;
  measured.matrix.emplace();
  if (!Interrupted()) measured.matrix = RunCorunMatrix(of_matrix, topology, settings);
  return measured;
}

std::string TextOf(const Measured& measured, const CorunOptions& options, const Style& style) {
  std::string text;
  const std::size_t most = options.all ? std::numeric_limits<std::size_t>::max() : kStagesShown;
  if (measured.curve) {
    text = CacheCurveTable(*measured.curve, most, style);
  } else if (!options.workloads.empty()) {
    text = CorunTable(measured.group, most, style);
  }
  if (measured.matrix) {
    if (!options.workloads.empty()) text += "\n";
    text += CorunMatrixTable(*measured.matrix, style);
  }
  return text;
}

nlohmann::ordered_json JsonOf(const Measured& measured) {
  nlohmann::ordered_json json = CorunJson(measured.group, measured.matrix);
  if (!measured.curve) return json;
  const CacheCurve& curve = *measured.curve;
  json["rounds"] = curve.rounds;
  json["window_seconds"] = JsonNumber(curve.window_seconds);
  json["notes"] = curve.notes;
  json["workload"] = curve.workload;
  json["cache"] = curve.cache;
  json["cache_bytes"] = curve.cache_bytes;
  if (!curve.by_ways) {
    json["access_seconds_hit"] = JsonNumber(curve.hit_seconds);
    json["access_seconds_miss"] = JsonNumber(curve.miss_seconds);
  }
  json[curve.by_ways ? "ways" : "cache_curve"] = CacheCurveJson(curve);
  return json;
}

int Measure(const CommandParser& parser, const CorunOptions& options) {
  CorunSettings settings = SettingsOf(options);
  CheckOptions(parser, options);
  std::vector<CorunWorkload> workloads;
  for (const std::string& words : options.workloads) workloads.push_back(ParseCorunWords(words));
  std::vector<CorunWorkload> of_matrix;
  if (!options.matrix.empty()) of_matrix = ParseCorunList(options.matrix);
  const Topology topology = ReadTopology();
  // Words that are not possible are refused before anything runs.
  if (!workloads.empty()) CpusOfCorun(workloads, topology);
  if (options.cache_curve) CpusOfCurve(workloads.front(), topology);
  for (const CorunWorkload& a : of_matrix) {
    for (const CorunWorkload& b : of_matrix) CpusOfCorun({a, b}, topology);
  }
  ProgressLine line(options.quiet ? Style{} : DetectStyle(stderr));
  settings.progress = [&line](std::string_view what, double share) {
    line.Show(fmt::format("{}: {:.0f} %", what, 100 * share));
  };
  const Measured measured = MeasureAll(options, workloads, of_matrix, topology, settings);
  line.Erase();
  PublishResult(
      options.json, [&] { return JsonOf(measured); },
      [&](const Style& style) { return TextOf(measured, options, style); });
  return Interrupted() ? kExitInterrupted : kExitGood;
}

std::function<int()> ConfigureCorun(CommandParser& parser) {
  auto options = std::make_shared<CorunOptions>();
  parser.Add("--workload WORDS", options->workloads,
             "what runs at once, one text for each: 'NET train|infer [batch N] [threads N] "
             "[backend B] [dtype T] [size N]', 'probe NAME [threads N]', or 'command PROGRAM "
             "...'; 'cpus LIST' in front sets its CPUs (default: an equal share)");
  parser.Add("--matrix WORDS,...", options->matrix,
             "workloads, of which every pair runs: how much each slows each down");
  parser.Add("--rounds", options->rounds,
             "rounds; each has a window for each workload alone, and one for all");
  parser.Add("--window TIME", options->window,
             "length of a window (default: 0.5s, or five of the longest iterations)");
  parser.Add("--timeout TIME", options->timeout,
             "a workload hangs if it does not get ready, or end an iteration, within this time");
  parser.Add("--counters", options->counters,
             "auto (all that work), exact (instructions of one step of each network), perf (the "
             "PMU's Top-Down, alone and beside the others) or none");
  parser.Add("--ways MASK,...", options->partitions.ways,
             "the ways of the last cache of each workload, as hexadecimal masks (resctrl)");
  parser.Add("--bandwidth PERCENT,...", options->partitions.bandwidth,
             "the memory bandwidth of each workload (resctrl)");
  parser.AddFlag("--sweep-ways", options->partitions.sweep_ways,
                 "the slowdown of the first workload for each number of ways; the others have the "
                 "rest (resctrl)");
  parser.Add("--resctrl DIR", options->resctrl, "where resctrl is mounted");
  parser.AddFlag("--cache-curve", options->cache_curve,
                 "without resctrl: the slowdown of the workload for each part of the last cache "
                 "that a neighbour occupies");
  parser.Add("--json FILE", options->json, "write everything to this file as JSON");
  parser.AddFlag("--all", options->all, "show all stages");
  parser.AddFlag("--quiet", options->quiet, "no progress");
  parser.AddFooter("Probes: " + CorunProbesText() + ".");
  return [options, &parser] { return Measure(parser, *options); };
}

const CommandRegistration kCorun(
    {"corun", Question::kShare, "what workloads that run at once cost each other, stage by stage",
     ConfigureCorun,
     "topdnn corun --workload 'cnn train batch 32' 'probe dram' --json corun.json"});

}  // namespace

}  // namespace topdnn
