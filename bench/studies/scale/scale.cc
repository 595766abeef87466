#include "bench/studies/scale/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/nearest.h"
#include "bench/ranks/mpi_transport.h"
#include "bench/studies/scale/scale_agreement.h"
#include "bench/studies/scale/scale_figures.h"
#include "bench/studies/scale/scale_report.h"
#include "bench/studies/scale/scale_run.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/style.h"

namespace topdnn {

namespace {

// The largest difference of losses that counts as rounding.
double LossBound(const ScaleOptions& options) {
  return options.wire == "f32" && options.workload.dtype == "f32" ? 1e-4 : 2e-2;
}

void CheckScaleOptions(const ScaleOptions& options) {
  if (options.predict && options.scaling == "strong") {
    throw UsageError("--predict: predicts weak scaling; leave out --scaling strong");
  }
  CheckName("wire", options.wire, {"f32", "bf16"});
  if (!options.scaling.empty()) CheckName("scaling", options.scaling, {"strong", "weak"});
  if (options.bucket_mib && BucketBytes(options, 0) < 1) {
    throw UsageError(
        fmt::format("--bucket-size {:g}: must be more than 0 MiB", *options.bucket_mib));
  }
}

// Without --threads: OMP_NUM_THREADS, otherwise the node's CPUs divided among its ranks.
int ThreadsOfRank(const ScaleOptions& options, const Launch& launch) {
  if (options.workload.threads != 0) return ThreadsOf(options.workload);
  const char* const variable = std::getenv("OMP_NUM_THREADS");
  const int wanted = variable == nullptr ? 0 : std::atoi(variable);
  const int share = std::max(CpusOfNode() / launch.node_ranks.value_or(1), 1);
  return std::min(ThreadsOf(options.workload), wanted > 0 ? wanted : share);
}

int RanksOf(const std::string& word, int most) {
  const auto ranks = ParseNumber<int>(word);
  if (!(ranks >= 1 && ranks <= most)) {
    throw UsageError(fmt::format("--ranks: '{}': must be 1 to {}, the ranks that were started",
                                 OneLine(word), most));
  }
  return *ranks;
}

// Ascending. --ranks, otherwise 1, 2, 4, ... and all ranks, or without --scaling all ranks only.
// Throws UsageError.
std::vector<int> GroupsOf(const ScaleOptions& options, int ranks) {
  std::vector<int> groups;
  for (const std::string& word : SplitAtCommas(options.ranks)) {
    groups.push_back(RanksOf(word, ranks));
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (!groups.empty()) return groups;
  for (int size = 1; !options.scaling.empty() && size < ranks; size *= 2) groups.push_back(size);
  groups.push_back(ranks);
  return groups;
}

// The batch of a group. Throws UsageError if its ranks cannot have equal parts.
std::int64_t GlobalBatch(const ScaleOptions& options, int ranks) {
  const std::int64_t batch = options.workload.batch.value_or(options.workload.default_batch);
  if (batch < 1) throw UsageError(fmt::format("--batch {}: must be 1 or more", batch));
  if (options.scaling == "weak") return batch * ranks;
  if (batch % ranks == 0) return batch;
  const std::int64_t below = batch / ranks * ranks;
  throw UsageError(fmt::format("--batch {}: does not divide among {} ranks; take {}{}", batch,
                               ranks, below > 0 ? fmt::format("{} or ", below) : std::string(),
                               below + ranks));
}

bool HasStage(const Plan& plan, std::string_view op) {
  return std::any_of(plan.stages().begin(), plan.stages().end(),
                     [op](const Stage& stage) { return stage.op->kind() == op; });
}

std::vector<std::string> NotesOf(const ScaleOptions& options, const Plan& plan, int ranks) {
  std::vector<std::string> notes;
  if (HasStage(plan, "batchnorm")) {
    notes.push_back(
        "batch normalization: each rank uses the mean and variance of its part of the batch, so "
        "the loss depends on the number of ranks, and is not compared");
  }
  if (options.workload.dropout && HasStage(plan, "dropout")) {
    notes.push_back(
        "dropout: each rank draws its own masks, so the loss depends on the number of ranks, and "
        "is not compared");
  }
  if (!options.no_overlap && ranks > 1) {
    notes.push_back(
        "sums make progress when a rank calls MPI: after each stage, and while it waits");
  }
  return notes;
}

struct Measured {
  ScaleReport report;
  std::string wrong;
};

// The differences of the losses between the groups of strong scaling.
void CompareLosses(const ScaleOptions& options, const std::vector<GroupRun>& runs, bool comparable,
                   Measured& measured) {
  if (options.scaling != "strong" || runs.size() < 2) return;
  double error = 0;
  for (const GroupRun& run : runs) {
    error = std::max(error, LossDifference(run.losses, runs.front().losses));
  }
  measured.report.loss_error = error;
  if (!comparable) return;
  measured.report.loss_bound = LossBound(options);
  if (error <= *measured.report.loss_bound) return;
  measured.wrong = fmt::format(
      "the losses of different numbers of ranks differ by {:.2g}, more than rounding", error);
}

// Rank 0 returns the report, the others nothing.
std::optional<Measured> Measure(const ScaleOptions& options, const RankIdentity& own,
                                Transport& transport) {
  Measured measured;
  ScaleReport& report = measured.report;
  std::vector<GroupRun> runs;
  bool comparable = true;
  const std::vector<int> groups = GroupsOf(options, transport.ranks());
  for (const int ranks : groups) {
    transport.ChooseGroup(ranks);
    std::unique_ptr<RankRun> run;
    std::exception_ptr failure;
    try {
      const std::int64_t batch = GlobalBatch(options, ranks);
      if (transport.in_group()) run = std::make_unique<RankRun>(options, batch, transport);
    } catch (...) {
      failure = std::current_exception();
    }
    report.ranks = Agree(transport, own, failure);
    auto group = RankRun::Train(run.get(), transport);
    // Every rank must leave the loop with the others.
    const bool stops = Interrupted() || (group && (!group->complete || !group->wrong.empty()));
    const std::vector<std::string> stopping = transport.Gather(stops ? "stop" : "");
    const bool ends = std::count(stopping.begin(), stopping.end(), "stop") > 0;
    if (group) {
      const auto own_ranks = std::vector(report.ranks.begin(), report.ranks.begin() + ranks);
      group->shares_cpus = !OversubscriptionOf(own_ranks).empty();
      report.network = run->workload().network;
      report.backend = run->workload().backend;
      report.dtype = run->workload().dtype;
      report.source = group->source;
      report.complete = group->complete && !(ends && ranks != groups.back());
      report.notes = NotesOf(options, run->plan(), ranks);
      comparable = !HasStage(run->plan(), "batchnorm") &&
                   !(options.workload.dropout && HasStage(run->plan(), "dropout"));
      report.bucket_bytes = group->bucket_bytes;
      measured.wrong = group->wrong;
      report.losses = group->losses;
      report.groups.push_back(FiguresOf(*group, options.wire_type()));
      runs.push_back(std::move(*group));
    }
    if (ends) break;
  }
  if (transport.rank() != 0) return std::nullopt;
  report.mpi = transport.library();
  report.ranks.resize(static_cast<std::size_t>(report.groups.back().ranks));
  const std::string shared = OversubscriptionOf(report.ranks);
  if (measured.wrong.empty()) CompareLosses(options, runs, comparable, measured);
  if (measured.wrong.empty() && options.predict) {
    report.prediction = PredictScaling(runs, options.wire_type());
    if (!shared.empty() && !report.prediction->on_own_cpus) {
      report.prediction->assumptions.push_back("as on nodes with a CPU for each thread, although " +
                                               shared);
    }
  }
  if (!shared.empty()) Worsen(report.verdict, Status::kDegraded, shared);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string disturbed = DisturbanceOf(report.groups[i]);
    if (!runs[i].shares_cpus && !disturbed.empty()) {
      Worsen(report.verdict, Status::kDegraded, disturbed);
    }
  }
  if (!measured.wrong.empty()) {
    Worsen(report.verdict, Status::kFailed, measured.wrong);
    for (GroupFigures& group : report.groups) RemoveTimes(group);
  } else if (!report.complete) {
    Worsen(report.verdict, Status::kDegraded, "interrupted");
  }
  return measured;
}

// mpirun gives the ranks a terminal that is not the user's.
Style StyleOf(std::FILE* stream, bool by_mpi) {
  constexpr int kWidth = 80;
  Style style = DetectStyle(stream);
  if (!by_mpi) return style;
  style.colour = false;
  style.terminal = false;
  style.width = kWidth;
  style.cut = true;
  return style;
}

int Publish(const ScaleOptions& options, const Measured& measured, bool by_mpi) {
  Outputs outputs;
  outputs.Write(options.json, [&] {
    WriteFileAtomically(options.json, JsonText(ScaleJson(measured.report, options)));
  });
  if (!options.quiet) {
    std::FILE* const stream = options.json == kStandardOutput ? stderr : stdout;
    fmt::print(stream, "{}", ScaleTable(measured.report, options, StyleOf(stream, by_mpi)));
    std::fflush(stream);
  }
  outputs.Finish();
  if (!measured.wrong.empty()) {
    fmt::print(stderr, "topdnn: scale: {}\n", OneLine(measured.wrong));
    return kExitWrong;
  }
  return measured.report.complete ? kExitGood : kExitInterrupted;
}

// Before MPI starts, because the check of the threads forks.
std::exception_ptr SetThreads(const Launch& launch, ScaleOptions& options) {
  try {
    CheckScaleOptions(options);
    options.workload.threads = ThreadsOfRank(options, launch);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

int RunRank(const ScaleOptions& options, bool by_mpi, std::exception_ptr failure,
            Transport& transport) {
  try {
    // (a failure of the options comes first)
    if (failure == nullptr) {
      for (const int ranks : GroupsOf(options, transport.ranks())) GlobalBatch(options, ranks);
    }
    if (transport.rank() == 0) {
      CheckOutputs({options.json}, InputFiles(options.workload.network, options.workload.weights));
    }
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  const RankIdentity own = DescribeRank(options.workload.threads);
  Agree(transport, own, failure);
  const auto measured = Measure(options, own, transport);
  const int status = measured ? Publish(options, *measured, by_mpi) : kExitGood;
  // Every rank ends with the status of rank 0, so that mpirun reports it.
  return std::stoi(transport.Gather(fmt::format("{}", status)).front());
}

}  // namespace

std::int64_t BucketBytes(const ScaleOptions& options, std::int64_t gradient_bytes) {
  constexpr double kMib = 1 << 20;
  constexpr std::int64_t kMost = std::int64_t{25} << 20;
  constexpr std::int64_t kBuckets = 8;
  if (options.bucket_mib) return static_cast<std::int64_t>(*options.bucket_mib * kMib);
  return std::min(kMost, gradient_bytes / kBuckets);
}

int RunScale(ScaleOptions options) {
  InterruptFlag();
  if (options.predict && options.scaling.empty()) options.scaling = "weak";
  if (!options.ranks.empty() && options.scaling.empty()) options.scaling = "strong";
  const Launch launch =
      LaunchOf([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
  const std::exception_ptr failure = SetThreads(launch, options);
  std::unique_ptr<Transport> transport;
  try {
    transport = OpenRanks(launch);
  } catch (const UsageError&) {
    if (!launch.first) return kExitUsage;  // (the first rank says it)
    throw;
  }
  transport->set_limit(options.wait_limit);
  try {
    return RunRank(options, launch.by_mpi, failure, *transport);
  } catch (const Refused& refused) {
    if (!refused.message.empty()) fmt::print(stderr, "topdnn: {}\n", OneLine(refused.message));
    return refused.status;
  } catch (const std::exception& error) {
    if (transport->ranks() == 1) throw;
    fmt::print(stderr, "topdnn: scale: rank {}: {}\n", transport->rank(), OneLine(error.what()));
    std::fflush(stderr);
    transport->Abort(kExitWrong);
  }
  return kExitWrong;  // (not reached)
}

}  // namespace topdnn
