// The experiment on pages: the plan's memory on small pages, on transparent huge pages and on
// reserved ones, and the times on each, in turn.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/profile/experiments.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/stage_calls.h"
#include "harness/experiments/experiment_error.h"
#include "harness/experiments/huge_pages.h"
#include "harness/experiments/interleaved.h"
#include "harness/experiments/ratios.h"
#include "harness/machine/cpuid.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

namespace {

constexpr PageKind kHugeKinds[] = {PageKind::kTransparent, PageKind::kReserved};

// The memory on pages of one kind.
struct OnPages {
  PageKind kind;
  std::vector<double> proved;  // bytes on them according to the kernel, by round
};

struct PageTimes {
  std::size_t bytes = 0;       // exchanged
  std::vector<OnPages> kinds;  // small ones first
  std::vector<HugePagesResult> refused;
  ConditionTimes times, waited;  // by kind
};

void CheckPagesSubject(const ExperimentSubject&) {
  const ExchangedPages pages(LiveAlignedMemory());
  if (pages.bytes() == 0) {
    throw NothingMeasured(
        "--experiment pages: the plan has no block of 2 MiB or more: use a larger --batch");
  }
  std::string why;
  for (const PageKind kind : kHugeKinds) {
    const std::string refused = WhyNoPages(kind, pages.bytes());
    if (refused.empty()) why.clear();
    if (refused.empty()) break;
    why += (why.empty() ? "" : "; ") + refused;
  }
  if (!why.empty()) throw NothingMeasured("--experiment pages: " + why);
  RequireMemory(pages.largest(), "the copy of --experiment pages", "use a smaller --batch");
}

// The kinds of pages that the kernel gives.
void ChooseKinds(ExchangedPages& pages, PageTimes& measured) {
  measured.kinds.push_back({.kind = PageKind::kSmall, .proved = {}});
  for (const PageKind kind : kHugeKinds) {
    std::string why = WhyNoPages(kind, pages.bytes());
    try {
      if (why.empty()) pages.Use(kind);
    } catch (const ExperimentError& e) {
      why = e.what();
    }
    if (why.empty()) {
      measured.kinds.push_back({.kind = kind, .proved = {}});
    } else {
      HugePagesResult& refused = measured.refused.emplace_back();
      refused.kind = NameOf(kind);
      refused.reason = why;
    }
  }
}

PageTimes MeasurePages(const ExperimentSubject& subject) {
  const ThreadWidth width(subject.plan.threads());
  const StageCalls calls(subject.plan);
  ExchangedPages pages(LiveAlignedMemory());
  PageTimes measured;
  measured.bytes = pages.bytes();
  ChooseKinds(pages, measured);
  auto feed = [&subject] { subject.images.FillNext(subject.plan); };
  std::vector<Condition> conditions;
  for (OnPages& on : measured.kinds) {
    conditions.push_back(
        {.stages = calls.stages(), .before_iteration = Action::Of(feed), .enter = [&pages, &on] {
           pages.Use(on.kind);
           const BackedBytes backing = pages.Backing();
           on.proved.push_back(static_cast<double>(backing.On(on.kind)));
         }});
  }
  measured.times = RunRounds(subject, conditions, measured.waited);
  ThrowOnRunFailure();
  return measured;
}

// The rounds in which the kernel gave small pages for nearly everything, and those of kind `k`.
std::vector<std::size_t> ProvedRounds(const PageTimes& measured, std::size_t k) {
  constexpr double kNearlyAll = 0.95;
  const double least = kNearlyAll * static_cast<double>(measured.bytes);
  std::vector<std::size_t> rounds;
  const std::size_t count = measured.times.front().front().size();  // (without a cancelled one)
  for (std::size_t round = 0; round < count; ++round) {
    if (measured.kinds.front().proved[round] < least) continue;
    if (measured.kinds[k].proved[round] >= least) rounds.push_back(round);
  }
  return rounds;
}

HugePagesResult ResultOf(const PageTimes& measured, std::size_t k,
                         const std::vector<std::vector<double>>& seconds,
                         const std::vector<std::vector<double>>& waited) {
  HugePagesResult result;
  result.kind = NameOf(measured.kinds[k].kind);
  const std::vector<std::size_t> proved = ProvedRounds(measured, k);
  const std::vector<std::vector<double>> used = TimesInRounds(seconds, proved);
  const std::vector<std::size_t> kept = UndisturbedRounds(TimesInRounds(waited, proved));
  result.factor = FactorOf(ValuesAt(used.front(), kept), ValuesAt(used[k], kept));
  const std::vector<double>& of_kind = measured.kinds[k].proved;
  if (!of_kind.empty()) result.proved_bytes = *std::min_element(of_kind.begin(), of_kind.end());
  if (result.factor) return result;
  result.reason = "too few rounds for an interval";
  if (proved.size() < measured.times.front().front().size()) {
    result.reason = fmt::format("the kernel gave {} huge pages for only {:.0f} of {:.0f} MiB",
                                result.kind, *result.proved_bytes / kHugePage * 2,
                                static_cast<double>(measured.bytes) / kHugePage * 2);
  }
  return result;
}

void AddPagesTo(const PageTimes& measured, const std::vector<std::vector<double>>& seconds,
                const std::vector<std::vector<double>>& waited, double bytes, Record& record) {
  PagesResult result;
  result.bytes = bytes;
  for (std::size_t k = 1; k < measured.kinds.size(); ++k) {
    HugePagesResult of_kind = ResultOf(measured, k, seconds, waited);
    if (std::string why_not = WhyNoResult(record); !why_not.empty()) {
      of_kind.factor.reset();
      of_kind.reason = std::move(why_not);
    }
    result.kinds.push_back(std::move(of_kind));
  }
  result.kinds.insert(result.kinds.end(), measured.refused.begin(), measured.refused.end());
  record.pages_experiment = std::move(result);
}

void AddPages(const PageTimes& measured, Report& report) {
  if (measured.times.front().size() != report.stages.size()) return;  // interrupted
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    Record& stage = report.stages[i];
    AddPagesTo(measured, TimesOfStage(measured.times, i), TimesOfStage(measured.waited, i),
               stage.bytes.value_or(0), stage);
    for (HugePagesResult& kind : stage.pages_experiment->kinds) kind.proved_bytes.reset();
  }
  AddPagesTo(measured, TimesOfSequence(measured.times), WaitingOfSequence(measured.waited),
             static_cast<double>(measured.bytes), report.step);
  const TlbReach reach = TlbReachOf(ReadCpuid());
  report.step.pages_experiment->small_reach = reach.small;
  report.step.pages_experiment->huge_reach = reach.huge;
}

AddExperiment RunPages(const ExperimentSubject& subject) {
  return [measured = MeasurePages(subject)](const BoundsMachine&, Report& report) {
    AddPages(measured, report);
  };
}

const ExperimentRegistration kPages(
    {.name = "pages",
     .help =
         "how much faster each stage is on transparent and on reserved huge pages than on pages "
         "of 4 KiB",
     .regimes = {Regime::kInNetwork},
     .check = CheckPagesSubject,
     .run = RunPages});

}  // namespace

}  // namespace topdnn
