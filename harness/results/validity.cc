#include "harness/results/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "harness/bounds/roofline.h"
#include "harness/results/groups.h"

namespace topdnn {

namespace {

const Ceiling* FindCeiling(std::span<const Ceiling> ceilings, std::string_view name) {
  const auto found = std::find_if(ceilings.begin(), ceilings.end(),
                                  [&](const Ceiling& ceiling) { return ceiling.name == name; });
  return found == ceilings.end() ? nullptr : &*found;
}

void Worsen(Record& record, Status status, std::string_view reason) {
  Verdict verdict{record.status, record.reason};
  Worsen(verdict, status, reason);
  record.status = verdict.status;
  record.reason = verdict.reason;
}

void RemoveTimes(Record& record) {
  record.seconds.reset();
  record.seconds_interval.reset();
  record.seconds_by_regime.clear();
  record.topdown_bounds.reset();
  record.roofline.reset();
}

void RemoveCeiling(const Verdict& verdict, Record& record) {
  record.ceiling_flops_per_second.reset();
  record.ceiling_verdict = verdict;
  if (!record.roofline) return;
  record.roofline->withheld = record.roofline->compute.has_value();
  record.roofline->compute.reset();
}

// Whether the algorithm executes fewer operations than the definition: Winograd (Lavin and Gray,
// CVPR 2016). Then the share of the ceiling is not known without a count.
bool ExecutesFewer(const Record& record) {
  return record.implementation.find("wino") != std::string::npos;
}

bool StepExecutesFewer(const Report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(), ExecutesFewer);
}

// The share of the ceiling, if it shows that the ceiling is too low. `executes_fewer`: than the
// definition. Any direct algorithm may skip the operations on padding, so without a count they do
// not show it.
std::optional<double> ExcessiveShare(const Record& record, bool executes_fewer) {
  std::optional<double> share = record.PeakFraction();
  if (!share) return std::nullopt;
  if (!record.flops_counted) {
    if (executes_fewer) return std::nullopt;
    *share *= record.flops_without_padding.value_or(*record.flops) / *record.flops;
  }
  return *share > kMaxPeakFraction ? share : std::nullopt;
}

// A ceiling that was measured beside other work may be too low, and the time does not depend on it.
// If the ceiling is OK, one of the two is wrong.
void JudgeExcess(std::span<const Ceiling> ceilings, bool executes_fewer, Record& record) {
  const std::optional<double> share = ExcessiveShare(record, executes_fewer);
  if (!share) return;
  const Ceiling* ceiling = FindCeiling(ceilings, record.ceiling_name);
  const bool doubtful = ceiling != nullptr && ceiling->verdict.status != Status::kOk;
  Worsen(record, doubtful ? Status::kDegraded : Status::kInvalid,
         fmt::format("it ran at {:.2f} x its ceiling {}, which was measured too low{}: repeat the "
                     "run on a quiet machine",
                     *share, record.ceiling_name,
                     doubtful ? fmt::format(" ({})", ceiling->verdict.reason) : ""));
  RemoveCeiling({Status::kInvalid, "a stage ran faster"}, record);
}

void JudgeCeiling(std::span<const Ceiling> ceilings, Record& record) {
  if (!record.ceiling_flops_per_second) return;
  const Ceiling* ceiling = FindCeiling(ceilings, record.ceiling_name);
  const Verdict unknown{Status::kInvalid, "there is no such ceiling"};
  const Verdict verdict = ceiling == nullptr ? unknown : ceiling->verdict;
  if (!(*record.ceiling_flops_per_second > 0) || verdict.status > Status::kDegraded ||
      record.PeakFraction().value_or(0) > kMaxPeakFraction) {
    RemoveCeiling(verdict, record);
  } else if (verdict.status == Status::kDegraded) {
    Worsen(record, Status::kDegraded,
           fmt::format("the ceiling {}: {}", ceiling->name, verdict.reason));
  }
}

bool IsOk(std::span<const Ceiling> ceilings, const std::optional<Roof>& roof) {
  if (!roof) return false;
  const Ceiling* ceiling = FindCeiling(ceilings, roof->name);
  return ceiling != nullptr && ceiling->verdict.status == Status::kOk && roof->value > 0;
}

void JudgeRoofline(std::span<const Ceiling> ceilings, Record& record) {
  if (!record.roofline) return;
  Roofline& roofline = *record.roofline;
  for (std::optional<Roof>* roof : {&roofline.compute, &roofline.l1, &roofline.dram}) {
    if (IsOk(ceilings, *roof)) continue;
    const bool applies = roof != &roofline.dram || roofline.dram_applies;
    roofline.withheld = roofline.withheld || (roof->has_value() && applies);
    roof->reset();
  }
  const auto over = [&roofline] {
    const std::optional<Roof> lowest = roofline.lowest_known();
    return lowest && roofline.flops_per_second() > kMaxPeakFraction * lowest->value;
  };
  // The caches keep part of a working set that is slightly larger than they are.
  if (over()) roofline.dram_applies = false;
  if (over() || record.status >= Status::kInvalid) record.roofline.reset();
}

// A group has a share of the ceiling if each of its computing stages has one.
void JudgeGroups(Report& report) {
  for (GroupSummary& group : report.groups) {
    const bool has_ceilings =
        std::all_of(report.stages.begin(), report.stages.end(), [&](const Record& stage) {
          return GroupOfPass(stage.pass) != group.name || stage.ceiling_flops_per_second;
        });
    if (!has_ceilings || group.peak_fraction.value_or(0) > kMaxPeakFraction) {
      group.peak_fraction.reset();
    }
  }
}

// The times by regime are compared with each other, so all of them must be undisturbed.
void JudgeRegimes(const Evidence& evidence, Report& report) {
  const Record& step = report.step;
  if (step.status == Status::kOk && evidence.isolated.status == Status::kOk) return;
  bool removed = false;
  for (Record& stage : report.stages) {
    removed = removed || !stage.seconds_by_regime.empty();
    stage.seconds_by_regime.clear();
  }
  if (!removed) return;
  report.notes.push_back(
      {.text = fmt::format("the times by regime are omitted: {}",
                           step.status == Status::kOk ? evidence.isolated.reason : step.reason),
       .basis = Note::Basis::kFact,
       .main = true});
}

bool Holds(Note::Basis basis, const Evidence& evidence, const Record& step) {
  const bool timed = step.status == Status::kOk && step.seconds.has_value();
  switch (basis) {
    case Note::Basis::kFact:
      return true;
    case Note::Basis::kStep:
      return timed;
    case Note::Basis::kIsolated:
      return timed && evidence.isolated.status == Status::kOk;
    case Note::Basis::kCeiling:
      return timed && step.PeakFraction().has_value();
  }
  return false;
}

// What moved condemns only what depends on it.
void JudgeMoved(const Interval& memory_share, Record& record) {
  if (const Verdict moved = JudgeSpeeds(record.speeds, memory_share);
      moved.status != Status::kOk && record.seconds) {
    Worsen(record, moved.status, moved.reason);
  }
  if (!record.seconds_interval) return;
  const Interval influence = InfluenceOf(record.speeds, memory_share);
  record.seconds_interval->low *= influence.low;
  record.seconds_interval->high *= influence.high;
}

// The mean of the stages' shares, weighted by their times.
Interval MemoryShareOfStep(std::span<const Ceiling> ceilings, const Report& report) {
  double seconds = 0;
  Interval waits;
  for (const Record& stage : report.stages) {
    if (!stage.seconds) continue;
    const Interval share = MemoryShareOf(ceilings, stage);
    seconds += stage.seconds->median;
    waits.low += share.low * stage.seconds->median;
    waits.high += share.high * stage.seconds->median;
  }
  if (!(seconds > 0)) return {.low = 0, .high = 1};
  return {.low = waits.low / seconds, .high = waits.high / seconds};
}

// `measured`: the ceilings with the verdicts of their own measurement; `ceilings`: those that a
// record exceeds are INVALID.
void JudgeRecord(std::span<const Ceiling> measured, std::span<const Ceiling> ceilings,
                 bool executes_fewer, const Interval& memory_share, Record& record) {
  JudgeMoved(memory_share, record);
  if (record.status == Status::kFailed) RemoveTimes(record);
  JudgeExcess(measured, executes_fewer, record);
  JudgeCeiling(ceilings, record);
  JudgeRoofline(ceilings, record);
  if (record.topdown_bounds && record.status != Status::kOk) {
    record.topdown_bounds.reset();
    record.bounds_reason = WhyNoBounds(record.status);
  }
}

}  // namespace

Interval MemoryShareOf(std::span<const Ceiling> ceilings, const Record& record) {
  const std::optional<Roof> dram = BandwidthRoof({ceilings.begin(), ceilings.end()}, "dram");
  const bool known =
      dram && dram->value > 0 && record.bytes && record.seconds && record.seconds->median > 0;
  if (!known) return {.low = 0, .high = 1};
  constexpr double kHalf = 0.5;
  const double share = *record.bytes / record.seconds->median / dram->value;
  if (share >= kHalf) return {.low = kHalf, .high = 1};
  return {.low = 0, .high = share / kHalf};
}

void JudgeRecord(std::span<const Ceiling> ceilings, Record& record) {
  JudgeRecord(ceilings, ceilings, ExecutesFewer(record), MemoryShareOf(ceilings, record), record);
}

std::vector<Ceiling> MarkExceeded(std::vector<Ceiling> ceilings, const Report& report) {
  const auto mark = [&ceilings](const Record& record, bool executes_fewer) {
    const std::optional<double> share = ExcessiveShare(record, executes_fewer);
    if (!share) return;
    for (Ceiling& ceiling : ceilings) {
      if (ceiling.name != record.ceiling_name || ceiling.verdict.status >= Status::kInvalid) {
        continue;
      }
      ceiling.verdict = {Status::kInvalid, fmt::format("{} {} ran at {:.2f} x of it", record.name,
                                                       record.pass, *share)};
    }
  };
  for (const Record& stage : report.stages) mark(stage, ExecutesFewer(stage));
  mark(report.step, StepExecutesFewer(report));
  return ceilings;
}

void JudgeReport(const Evidence& given, Report& report) {
  const Evidence evidence = {.ceilings = MarkExceeded(given.ceilings, report),
                             .isolated = given.isolated};
  for (Record& stage : report.stages) {
    JudgeRecord(given.ceilings, evidence.ceilings, ExecutesFewer(stage),
                MemoryShareOf(evidence.ceilings, stage), stage);
  }
  if (report.step.seconds && !(report.step.seconds->median > 0)) {
    Worsen(report.step, Status::kInvalid,
           "a step of 0 s is impossible: measure or record it again");
    RemoveTimes(report.step);
  }
  JudgeRecord(given.ceilings, evidence.ceilings, StepExecutesFewer(report),
              MemoryShareOfStep(evidence.ceilings, report), report.step);
  if (report.step.status == Status::kFailed) report.fed_step.reset();
  JudgeGroups(report);
  JudgeRegimes(evidence, report);
  const std::size_t removed = std::erase_if(
      report.notes, [&](const Note& note) { return !Holds(note.basis, evidence, report.step); });
  if (removed == 0) return;
  const std::string reason =
      report.step.reason.empty() ? evidence.isolated.reason : report.step.reason;
  report.notes.push_back(
      {.text = fmt::format("{} note{} omitted: {}", removed, removed == 1 ? " is" : "s are",
                           reason.empty() ? "the step has no valid ceiling" : reason),
       .basis = Note::Basis::kFact,
       .main = false});
}

}  // namespace topdnn
