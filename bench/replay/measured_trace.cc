#include "bench/replay/measured_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "bench/cases/kernel_case.h"
#include "bench/cases/kernel_timing.h"
#include "bench/cases/problem_sets.h"
#include "bench/choice/kernels/selection.h"
#include "bench/command_line/interrupt.h"
#include "bench/machine/measured_ceilings.h"
#include "harness/measure/watched_run.h"
#include "harness/results/validity.h"
#include "harness/statistics/summary.h"
#include "harness/text/text.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/run_failure.h"

namespace topdnn {

namespace {

// The backend that executed the primitives of the log.
constexpr const char* kBackend = "onednn";
constexpr double kRaceSeconds = 0.5;
constexpr std::string_view kInterrupted = "interrupted";

KernelRequest RequestFor(const TracedProblem& problem, int threads) {
  return SettledProblem{problem.execution, problem.layouts, problem.algorithm}.RequestFor(
      problem.op, threads);
}

// Times the row's kernel and the other variants in turns.
Alternative FindAlternative(const KernelProblem& problem, KernelCase& own, int threads) {
  std::vector<Candidate> candidates = MakeCandidates(problem, threads);
  std::vector<KernelCase*> cases = {&own};
  std::vector<std::string> names = {std::string(kAsInLog)};
  for (const Candidate& candidate : candidates) {
    cases.push_back(candidate.kernel.get());
    names.push_back(candidate.variant.name);
  }
  const std::vector<CandidateTimes> times = RaceCandidates(cases, names, kRaceSeconds);
  const Choice choice = ChooseCandidate(times);
  return {.name = names[choice.index], .time_ratio = 1 / choice.gain, .reason = {}};
}

// Unoptimized loops: "ref:any".
bool IsReference(const std::string& implementation) { return implementation.starts_with("ref"); }

// Why oneDNN computes the request with unoptimized loops: what it chooses if the layouts are free.
std::string WhyUnoptimized(const std::string& backend, KernelRequest request) {
  request.layouts.clear();
  const KernelOrRefusal made = MakeKernel(backend, request);
  const auto* const free = std::get_if<std::unique_ptr<Kernel>>(&made);
  const std::string what = fmt::format(
      "oneDNN has only unoptimized loops here for a {} {} in {}", request.op->kind(),
      WordsOf(std::string(NameOf(request.execution.pass))), NameOf(request.execution.type));
  if (free == nullptr || IsReference((*free)->implementation())) return what + " in any layouts";
  return fmt::format("{} in the log's layouts; in layouts of its choice it has {}", what,
                     (*free)->implementation());
}

std::string RowWords(const MeasuredRow& row) {
  return fmt::format("{} {}", row.row.primitive, row.row.problem);
}

// Measures with hot or cold caches. Sets the row's reason if there is no time.
std::optional<MeasuredKernel> MeasureOnce(const TraceMeasuring& options, bool cold,
                                          KernelCase& kernel, MeasuredRow& row) {
  KernelTiming timing;
  timing.cold = cold;
  timing.seconds = options.seconds;
  timing.warm = cold;
  if (!cold) timing.sources = options.counting.sources;
  MeasuredKernel measured = MeasureKernel(RowWords(row), kernel, timing);
  if (std::string failure = TakeRunFailure(); !failure.empty()) {
    row.failed = true;
    row.reason = std::move(failure);
    return std::nullopt;
  }
  if (Interrupted() || !measured.record.seconds) {
    row.reason = Interrupted() ? std::string(kInterrupted) : measured.record.reason;
    return std::nullopt;
  }
  return measured;
}

std::vector<Ceiling> CeilingsFor(const TraceMeasuring& options) {
  return options.ceilings ? MeasuredCeilings(options.threads) : std::vector<Ceiling>();
}

// Why the row takes its hot time: ceiling, Top-Down and bounds.
void Explain(const TraceMeasuring& options, RowTopdown& topdown, const MeasuredRow& row,
             MeasuredKernel& hot) {
  if (options.ceilings) {
    HoldTo(CeilingOfKernel(hot.record.isa, row.problem->execution.type, options.threads),
           hot.record);
  }
  topdown.Add(hot);
  JudgeRecord(CeilingsFor(options), hot.record);
}

void MeasureRow(const TraceMeasuring& options, bool look_for_best, RowTopdown& topdown,
                MeasuredRow& row) {
  const KernelRequest request = RequestFor(*row.problem, options.threads);
  const std::string backend = ServingBackend(kBackend, request);
  row.reason = EarlyRefusal(backend, request);
  if (!row.reason.empty()) return;
  const KernelProblem problem(row.problem->op, row.problem->execution);
  auto made = KernelCase::Make(backend, request, problem);
  if (auto* refusal = std::get_if<Refusal>(&made)) {
    row.failed = refusal->failed;
    row.reason = std::move(refusal->reason);
    return;
  }
  KernelCase& kernel = *std::get<std::unique_ptr<KernelCase>>(made);
  if (CaseCheck check = kernel.Check(problem); !check.agrees) {
    row.failed = true;
    row.reason = std::move(check.reason);
    return;
  }
  std::optional<MeasuredKernel> hot = MeasureOnce(options, /*cold=*/false, kernel, row);
  if (!hot) return;
  Explain(options, topdown, row, *hot);
  std::optional<MeasuredKernel> cold = MeasureOnce(options, /*cold=*/true, kernel, row);
  if (!cold) return;
  row.hot = std::move(hot->record);
  row.cold = std::move(cold->record);
  if (row.ByReferenceLoops()) row.reason = WhyUnoptimized(backend, request);
  row.best.reason = row.problem->logged_reason;
  if (!IsSelectable(*row.problem->op)) return;
  if (look_for_best) {
    row.best.reason = "the search did not finish";
    row.best = FindAlternative(problem, kernel, options.threads);
    if (Interrupted()) {
      row.best = Alternative();
      row.best.reason = kInterrupted;
    }
  } else {
    row.best.reason = "not among the costliest rows: give --alternatives a larger number";
  }
}

std::optional<double> Total(const std::optional<Record>& record, std::int64_t count) {
  if (!record || !record->seconds) return std::nullopt;
  return record->seconds->median * static_cast<double>(count);
}

// The median over the rows of our time of one execution over the framework's median.
std::optional<double> RatioOf(const std::vector<MeasuredRow>& rows,
                              std::optional<Record> MeasuredRow::*regime) {
  std::vector<double> ratios;
  for (const MeasuredRow& row : rows) {
    const double framework = row.row.MedianSeconds();
    if (!(row.*regime) || row.ByOwnLoops() || row.ByReferenceLoops() || !(framework > 0)) continue;
    ratios.push_back((row.*regime)->seconds->median / framework);
  }
  if (ratios.empty()) return std::nullopt;
  return Median(ratios);
}

}  // namespace

bool MeasuredRow::ByOwnLoops() const { return hot && hot->backend == kNative; }

bool MeasuredRow::ByReferenceLoops() const {
  return hot && IsReference(hot->implementation) && !IsReference(row.implementation);
}

std::optional<double> MeasuredRow::HotSeconds() const { return Total(hot, row.count); }

std::optional<double> MeasuredRow::ColdSeconds() const { return Total(cold, row.count); }

std::optional<double> MeasuredRow::BestSeconds() const {
  const std::optional<double> own = ColdSeconds();
  if (!own || !best.reason.empty()) return std::nullopt;
  return *own * best.time_ratio;
}

double MeasuredTrace::Covered() const {
  double covered = 0;
  for (const MeasuredRow& row : rows)
    covered += row.hot && !row.ByReferenceLoops() ? row.row.seconds : 0;
  return framework_seconds > 0 ? covered / framework_seconds : 0;
}

std::optional<double> MeasuredTrace::MedianHotRatio() const {
  return RatioOf(rows, &MeasuredRow::hot);
}

std::optional<double> MeasuredTrace::MedianColdRatio() const {
  return RatioOf(rows, &MeasuredRow::cold);
}

double MeasuredTrace::ReorderShare() const {
  double reorders = 0;
  for (const MeasuredRow& row : rows) {
    if (row.row.primitive == "reorder") reorders += row.row.seconds;
  }
  return framework_seconds > 0 ? reorders / framework_seconds : 0;
}

double MeasuredTrace::SavedSeconds() const {
  double saved = 0;
  for (const MeasuredRow& row : rows) {
    if (row.ByReferenceLoops()) continue;
    if (const auto best = row.BestSeconds()) saved += *row.ColdSeconds() - *best;
  }
  return saved;
}

std::optional<double> MeasuredTrace::SavedShare() const {
  double all = 0;
  for (const MeasuredRow& row : rows) {
    all += row.ByReferenceLoops() ? 0 : row.ColdSeconds().value_or(0);
  }
  if (!(all > 0)) return std::nullopt;
  return SavedSeconds() / all;
}

bool MeasuredTrace::AnyFailed() const {
  return std::any_of(rows.begin(), rows.end(), [](const MeasuredRow& row) { return row.failed; });
}

bool MeasuredTrace::AnyMeasured() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const MeasuredRow& row) { return row.hot.has_value(); });
}

MeasuredTrace TranslateTrace(Trace trace) {
  MeasuredTrace measured;
  measured.framework_seconds = trace.FrameworkSeconds();
  std::vector<TraceRow> rows = std::exchange(trace.rows, {});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.seconds > b.seconds; });
  for (TraceRow& row : rows) {
    MeasuredRow& translated = measured.rows.emplace_back();
    std::variant<TracedProblem, NoProblem> problem = ProblemOf(row);
    translated.row = std::move(row);
    translated.best = {.name = std::string(kAsInLog), .time_ratio = 1, .reason = {}};
    if (auto* found = std::get_if<TracedProblem>(&problem)) {
      translated.problem = std::move(*found);
      translated.reason = "not measured";
    } else {
      translated.reason = std::move(std::get<NoProblem>(problem).reason);
    }
  }
  measured.trace = std::move(trace);
  return measured;
}

void MeasureRows(const TraceMeasuring& options, MeasuredTrace& measured) {
  measured.threads = options.threads;
  if (options.progress && options.ceilings) {
    options.progress("measuring the machine's ceilings", 0);
  }
  RowTopdown topdown(options.counting, CeilingsFor(options), options.threads);
  int rows = options.rows;
  int alternatives = options.alternatives;
  double done = 0;
  for (MeasuredRow& row : measured.rows) {
    done += row.row.seconds;
    if (!row.problem) continue;
    if (Interrupted()) {
      row.reason = kInterrupted;
      continue;
    }
    if (rows-- <= 0) {
      row.reason = "not among the costliest rows: give --rows a larger number";
      continue;
    }
    if (options.progress) {
      options.progress(RowWords(row),
                       measured.framework_seconds > 0 ? done / measured.framework_seconds : 0);
    }
    const bool selectable = IsSelectable(*row.problem->op);
    const std::string words = RowWords(row);
    const WatchedRun watched(words.c_str());
    try {
      MeasureRow(options, selectable && alternatives > 0, topdown, row);
    } catch (const std::bad_alloc&) {
      row.reason = "there is too little memory for it";
    } catch (const std::exception& error) {
      row.reason = error.what();
    }
    if (selectable && row.hot) --alternatives;
  }
  measured.notes.insert(measured.notes.end(), topdown.notes().begin(), topdown.notes().end());
}

}  // namespace topdnn
