#include "harness/report/console.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/report/opening.h"
#include "harness/report/registry.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// The note, without the reason of the verdict, which is printed above it.
std::string NoteText(const Note& note, const Record& step) {
  if (step.reason.empty() || !note.text.ends_with(step.reason)) return note.text;
  return note.text.substr(0, note.text.size() - step.reason.size()) + "see the verdict";
}

// The main notes, or all notes.
std::string NotesText(const Report& report, const Style& style, bool explain) {
  constexpr std::size_t kMaxMain = 2;  // and one line that says how to see the others
  std::string text;
  std::size_t shown = 0;
  for (const Note& note : report.notes) {
    if (!explain && (!note.main || shown == kMaxMain)) continue;
    text += Wrap(NoteText(note, report.step), style.width, 2);
    ++shown;
  }
  if (const std::size_t others = report.notes.size() - shown; others > 0) {
    text += fmt::format("--explain prints {}\n",
                        CountText(static_cast<std::int64_t>(others), "more note"));
  }
  return text;
}

}  // namespace

std::string SubjectText(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.subject) {
    if (!text.empty()) text += ", ";
    const auto& json = value.json();
    // (`dump` replaces bytes that are not UTF-8, as in the JSON file)
    text +=
        name + " " +
        (json.is_string() ? json.get<std::string>()
                          : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return text;
}

std::string StepText(const Report& report, const Style& style) {
  const Record& step = report.step;
  const bool timed = step.status != Status::kFailed && step.seconds;
  const std::string time =
      TimeText(timed ? std::optional(step.seconds->median) : std::nullopt, style.unicode);
  std::string text = "step: " + time;
  const std::size_t bold = text.size();
  if (timed) {
    std::int64_t left_out = 0;
    for (const auto& [reason, samples] : step.left_out) left_out += samples;
    text += fmt::format(" (min {}, p90 {}, n {}{})", TimeText(step.seconds->min, style.unicode),
                        TimeText(step.seconds->p90, style.unicode), step.seconds->n,
                        left_out > 0 ? fmt::format(", left out {}", left_out) : "");
  }
  text += fmt::format(", {} images/s, {} GFLOP/s, {} of peak", FigureText(report.ItemsPerSecond()),
                      FigureText(step.Gflops()), PercentText(step.PeakFraction()));
  if (!step.ceiling_name.empty()) text += fmt::format(" ({})", step.ceiling_name);
  text = Wrap(text, style.width, 2);
  return Inked(Ink::kBold, text.substr(0, bold), style) + text.substr(bold);
}

std::string ConsoleText(const Report& report, const Style& style, const ConsoleOptions& options) {
  const std::string subject = SubjectText(report);
  std::string text = subject.empty() ? "" : Wrap(subject, style.width, 2);
  for (const std::string& warning : report.warnings) {
    text += Inked(Ink::kYellow, Wrap(warning, style.width, 2), style);
  }
  text += VerdictText(report, style) + CostliestText(report, style);
  if (!options.quiet) text += "\n" + StageTableText(report, style, options.stages);
  text += StepText(report, style);
  if (report.partial) {
    text += Inked(Ink::kYellow, "partial: interrupted, stages are missing", style) + "\n";
  }
  return options.quiet ? text : text + NotesText(report, style, options.explain);
}

namespace {

const ReportRegistration kStages(TableReport{
    .name = "stages", .place = 0, .shown = TableReport::Shown::kAlways, .text = ConsoleText});

}  // namespace

}  // namespace topdnn
