#include "harness/c_api/profile_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/machine/machine.h"
#include "harness/report/opening.h"
#include "harness/report/stage_table.h"
#include "harness/results/groups.h"
#include "harness/results/stage_record.h"
#include "harness/results/validity.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr std::string_view kRegime = "in-network";

void AddNotes(const StepMeter::Samples& samples, Report& report) {
  const Warmup& warmup = samples.sequence.warmup;
  if (!samples.only_warmup) {
    report.notes.push_back({.text = fmt::format("warm-up: {} after {} steps, {:.2f} s",
                                                warmup.steady ? "steady" : "not steady",
                                                warmup.iterations, warmup.seconds),
                            .main = !warmup.steady});
  }
  if (!samples.sequence.stages.empty()) {
    report.notes.push_back(
        {.text = fmt::format("an empty stage takes {:.0f} ns; every time excludes it",
                             samples.sequence.stages.front().empty_seconds * 1e9)});
  }
  if (samples.other_steps > 0) {
    report.notes.push_back(
        {.text = fmt::format("{} steps had other stages than most, and are left out",
                             samples.other_steps),
         .main = true});
  }
}

}  // namespace

Report ReportOfSteps(StepMeter& meter, const std::string& command, const std::string& program) {
  const StepMeter::Samples samples = meter.TakeSamples();
  const SequenceSamples& sequence = samples.sequence;
  Report report;
  report.command = command;
  report.machine = ToJson(DescribeMachine());
  if (!program.empty()) report.subject.emplace_back("program", nlohmann::ordered_json(program));
  Verdict verdict = JudgeWholeRun(sequence.disturbance);
  if (samples.only_warmup) {
    Worsen(verdict, Status::kDegraded,
           fmt::format("the loop of {} steps ended in the warm-up, and all but the first are used: "
                       "run more steps",
                       meter.steps()));
  }
  for (std::size_t k = 0; k < samples.stages.size(); ++k) {
    Record& record =
        report.stages.emplace_back(RecordOf(sequence.stages[k], sequence.events, verdict, kRegime));
    record.op = "code";
    record.pass = meter.stages().at(samples.stages[k]).pass;
    record.speeds = SpeedsOf(sequence, sequence.stages[k]);
  }
  report.step = RecordOf(sequence.step, sequence.events, verdict, kRegime);
  report.step.speeds = SpeedsOf(sequence, sequence.step);
  AddGroups(sequence.stages, report);
  AddNotes(samples, report);
  JudgeReport({}, report);
  return report;
}

std::string TableOfSteps(const Report& report, const Style& style) {
  const auto time = [&style](double seconds) { return TimeText(seconds, style.unicode); };
  const StageTableOptions options = {
      .columns = {"stage", "pass", "share", "time", "min", "p90", "bar"}};
  std::string text = VerdictText(report, style) + CostliestText(report, style) + "\n" +
                     StageTableText(report, style, options);
  if (const std::optional<Summary>& seconds = report.step.seconds) {
    std::int64_t left_out = 0;
    for (const auto& [reason, samples] : report.step.left_out) left_out += samples;
    text += fmt::format("step: {} (min {}, p90 {}, n {}", time(seconds->median), time(seconds->min),
                        time(seconds->p90), seconds->n);
    text += left_out > 0 ? fmt::format(", left out {})\n", left_out) : ")\n";
  }
  for (const Note& note : report.notes) text += Wrap(note.text, style.width, 2);
  return text;
}

}  // namespace topdnn
