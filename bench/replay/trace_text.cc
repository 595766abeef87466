#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/replay/trace_report.h"
#include "harness/report/tables/tables.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kCostliest = 5;

// "convolution forward mb2_ic3oc64..."
std::string NameOfRow(const TraceRow& row) {
  const std::string pass = PassText(row);
  return OneLine(
      fmt::format("{} {}{}{}", row.primitive, pass, pass.empty() ? "" : " ", row.problem));
}

std::string HeadText(const MeasuredTrace& measured) {
  const Trace& trace = measured.trace;
  std::int64_t executions = trace.unfolded;
  for (const MeasuredRow& row : measured.rows) executions += row.row.count;
  std::string text =
      fmt::format("{} of {} in {}", CountText(executions, "primitive"),
                  CountText(std::ssize(measured.rows), "kind"), CountText(trace.lines, "line"));
  text += fmt::format(" ({}", trace.dialect);
  if (!trace.library.empty()) text += "; " + OneLine(trace.library);
  if (trace.threads) text += "; " + CountText(*trace.threads, "thread");
  return text + ")";
}

// The lines that are not executions; empty if there are none.
std::string OtherLinesText(const Trace& trace) {
  std::string text;
  const auto add = [&text](std::int64_t n, std::string_view what) {
    if (n == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, what);
  };
  add(trace.created, "creations");
  add(trace.graph_lines, "of the graph API");
  add(trace.other_lines, "other events");
  add(trace.damaged_lines, "damaged");
  add(trace.interleaved_lines, "interrupted by another process");
  add(trace.long_lines, "too long");
  add(trace.text_lines, "not of oneDNN");
  return text.empty() ? text : "other lines: " + text;
}

// Empty without a ceiling: the column is then left out.
Table::Cell PeakCell(const MeasuredRow& row) {
  if (!row.hot || !row.hot->PeakFraction()) return std::string();
  return row.hot->PeakFraction();
}

// The executed FLOPs over those of the definition; empty without a count.
Table::Cell ExecutedCell(const MeasuredRow& row) {
  if (!row.hot || !row.hot->flops_counted || !row.hot->flops) return std::string();
  return *row.hot->flops_counted / *row.hot->flops;
}

// Absent if the log has no times.
std::optional<double> TimeOf(const MeasuredTrace& measured, double seconds) {
  return measured.trace.has_times ? std::optional(seconds) : std::nullopt;
}

std::string RowsText(const MeasuredTrace& measured, bool all, const Style& style) {
  constexpr auto kTime = Table::Kind::kTime;
  Table table({{.name = "primitive", .least = 9},
               {.name = "pass", .least = 16, .rank = 2},
               {.name = "problem", .least = 14},
               {.name = "layouts", .least = 12, .rank = 5},
               {.name = "runs", .kind = Table::Kind::kRight},
               {.name = "framework", .kind = kTime},
               {.name = "share", .kind = Table::Kind::kPercent},
               {.name = "here", .kind = kTime},
               {.name = "hot", .kind = kTime, .rank = 3},
               {.name = "peak", .kind = Table::Kind::kPercent, .rank = 6},
               {.name = "executed", .kind = Table::Kind::kFigure, .rank = 6, .decimals = 3},
               {.name = "best", .kind = kTime, .rank = 4},
               {.name = "variant", .least = 8, .rank = 4}});
  std::size_t shown = 0;
  for (const MeasuredRow& row : measured.rows) {
    if (!all && shown++ == kTraceRowsShown) break;
    const bool faster = row.BestSeconds() && row.best.name != kAsInLog;
    const std::optional<double> share =
        measured.framework_seconds > 0 ? std::optional(row.row.seconds / measured.framework_seconds)
                                       : std::nullopt;
    const std::string mark = row.ByReferenceLoops() ? " (ref)" : "";
    table.Add({OneLine(row.row.primitive) + mark, PassText(row.row), OneLine(row.row.problem),
               OneLine(LayoutsText(row.row)), fmt::format("{}", row.row.count),
               TimeOf(measured, row.row.seconds), share, row.ColdSeconds(), row.HotSeconds(),
               PeakCell(row), ExecutedCell(row),
               faster ? Table::Cell(row.BestSeconds()) : Table::Cell(std::string()),
               faster ? row.best.name : std::string()});
  }
  return table.Text(style);
}

// The Top-Down of the rows, and its bounds, as in a profile; empty without counts.
std::string TopdownText(const MeasuredTrace& measured, bool all, const Style& style) {
  Report report;
  std::size_t shown = 0;
  for (const MeasuredRow& row : measured.rows) {
    if (!all && shown++ == kTraceRowsShown) break;
    if (!row.hot) continue;
    const std::optional<Pass> pass = PassOfPropKind(row.row.prop_kind);
    Record& record = report.stages.emplace_back(*row.hot);
    record.name = OneLine(fmt::format("{} {}", row.row.primitive, row.row.problem));
    if (row.row.prop_kind != "undef" && pass) record.pass = NameOf(*pass);
  }
  return TopdownTableText(report, style) + BoundsTable(report, style, "hot runs of");
}

// The reasons why rows have no measured time or none that counts, with the framework's time of
// each.
std::string ReasonsText(const MeasuredTrace& measured, const Style& style) {
  struct Reason {
    std::string text;
    bool marked = false;  // (ref)
    double seconds = 0;
    int rows = 0;
  };
  std::vector<Reason> reasons;
  for (const MeasuredRow& row : measured.rows) {
    if (row.hot && !row.ByReferenceLoops()) continue;
    const std::string text = (row.failed ? "FAILED: " : "") + OneLine(row.reason);
    const auto same = [&text](const Reason& reason) { return reason.text == text; };
    auto found = std::find_if(reasons.begin(), reasons.end(), same);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {text, row.hot.has_value()});
    found->seconds += row.row.seconds;
    ++found->rows;
  }
  std::string text;
  constexpr std::size_t kMostReasons = 10;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    text +=
        Wrap(fmt::format("{}: {} ({}): {}", reasons[i].marked ? "marked (ref)" : "no measured time",
                         TimeText(reasons[i].seconds, style.unicode),
                         CountText(reasons[i].rows, "row"), reasons[i].text),
             style.width, 2);
  }
  if (reasons.size() > kMostReasons) {
    text +=
        fmt::format("  and {} further reasons: --json has all\n", reasons.size() - kMostReasons);
  }
  return text;
}

// How many measured rows are not OK, with the reason of the first; empty if none.
std::string DegradedText(const MeasuredTrace& measured, const Style& style) {
  std::string first;
  int degraded = 0;
  int timed = 0;
  for (const MeasuredRow& row : measured.rows) {
    if (!row.hot) continue;
    ++timed;
    const Record& record = row.cold->status > row.hot->status ? *row.cold : *row.hot;
    if (record.status == Status::kOk) continue;
    if (degraded++ == 0) first = fmt::format("{}: {}", NameOf(record.status), record.reason);
  }
  if (degraded == 0) return {};
  return Wrap(fmt::format("doubtful: {} of the {}; the {} is {}", degraded,
                          CountText(timed, "measured row"),
                          measured.trace.has_times ? "longest" : "first", OneLine(first)),
              style.width, 2);
}

// How many rows are of one kind, with the first of them, behind `what`; empty if none.
std::string ApartText(const MeasuredTrace& measured, bool (MeasuredRow::*is_apart)() const,
                      std::string_view what, const Style& style) {
  const MeasuredRow* first = nullptr;
  int rows = 0;
  for (const MeasuredRow& row : measured.rows) {
    if ((row.*is_apart)() && rows++ == 0) first = &row;
  }
  if (first == nullptr) return {};
  return Wrap(fmt::format("{}: {}; the {} is {}", what, CountText(rows, "row"),
                          measured.trace.has_times ? "longest" : "first", NameOfRow(first->row)),
              style.width, 2);
}

// The rows whose times say nothing about the framework's kernel.
std::string RowsApartText(const MeasuredTrace& measured, const Style& style) {
  return ApartText(measured, &MeasuredRow::ByOwnLoops,
                   "measured with topdnn's own loops instead of oneDNN's kernel, and not part of "
                   "this median",
                   style) +
         ApartText(measured, &MeasuredRow::ByReferenceLoops,
                   "marked (ref): oneDNN has only unoptimized loops here for the layouts and types "
                   "of the log; not part of the median and of the share that is measured",
                   style);
}

std::string SummaryText(const MeasuredTrace& measured, const Style& style) {
  const Trace& trace = measured.trace;
  std::string text;
  const auto add = [&](const std::string& line) { text += Wrap(line, style.width, 2); };
  const auto time = [&](std::optional<double> seconds) { return TimeText(seconds, style.unicode); };
  if (trace.has_times) {
    add(fmt::format("framework: {} in primitives, {} of it in reorders",
                    time(measured.framework_seconds), PercentText(measured.ReorderShare())));
  } else {
    add(fmt::format("framework: {}: the log has no times", kAbsentText));
  }
  if (trace.created > 0) add(fmt::format("creating primitives: {}", time(trace.creation_seconds)));
  add(trace.between_seconds
          ? fmt::format("between primitives: {}", time(trace.between_seconds))
          : fmt::format("between primitives: {}: {}", kAbsentText, trace.between_reason));
  std::string costliest;
  for (std::size_t i = 0; i < std::min(measured.rows.size(), kCostliest); ++i) {
    const TraceRow& row = measured.rows[i].row;
    costliest += fmt::format("{}{} ({})", i == 0 ? "" : "; ", NameOfRow(row), time(row.seconds));
  }
  if (trace.has_times) add("costliest: " + costliest);
  if (!measured.AnyMeasured()) return text;
  if (!trace.has_times) {
    add(fmt::format("measured here on {}", CountText(measured.threads, "thread")));
    return text + RowsApartText(measured, style) + DegradedText(measured, style);
  }
  add(fmt::format("measured here: rows with {} of the framework's time, on {}",
                  PercentText(measured.Covered()), CountText(measured.threads, "thread")));
  add(
      fmt::format("one execution here over the framework's, median over the rows: {}; {} with "
                  "the data in the caches",
                  FigureText(measured.MedianColdRatio()), FigureText(measured.MedianHotRatio())));
  text += RowsApartText(measured, style);
  text += DegradedText(measured, style);
  if (trace.threads && *trace.threads != measured.threads) {
    add(
        fmt::format("note: the framework ran on {}: the times are not comparable; --threads sets "
                    "the width here",
                    CountText(*trace.threads, "thread")));
  }
  if (measured.SavedSeconds() > 0) {
    add(
        fmt::format("faster variants would save {} ({} of the measured time), each by itself: "
                    "without reorders between their layouts",
                    time(measured.SavedSeconds()), PercentText(measured.SavedShare().value_or(0))));
  }
  return text;
}

// "NAME:PART" of each tensor that exists.
template <class Part>
std::string PartsText(const TraceRow& row, Part part) {
  std::string text;
  for (const TracedTensor& tensor : row.tensors) {
    if (!tensor.present()) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", tensor.name, part(tensor));
  }
  return text;
}

}  // namespace

std::string PassText(const TraceRow& row) {
  const std::optional<Pass> pass = PassOfPropKind(row.prop_kind);
  return row.prop_kind == "undef" || !pass ? "" : WordsOf(std::string(NameOf(*pass)));
}

std::string TypesText(const TraceRow& row) {
  return PartsText(row, [](const TracedTensor& tensor) { return tensor.type; });
}

std::string LayoutsText(const TraceRow& row) {
  return PartsText(row, [](const TracedTensor& tensor) { return tensor.LayoutText(); });
}

std::string BenchdnnText(const MeasuredTrace& measured) {
  std::string text;
  for (const MeasuredRow& row : measured.rows) {
    text += BenchdnnLineOf(row.row).Printed(NameOfRow(row.row)) + "\n";
  }
  return text;
}

std::string TraceText(const MeasuredTrace& measured, bool all, const Style& style) {
  std::string text = Wrap(HeadText(measured), style.width, 2);
  if (const std::string others = OtherLinesText(measured.trace); !others.empty()) {
    text += Wrap(others, style.width, 2);
  }
  text += RowsText(measured, all, style);
  if (!all && measured.rows.size() > kTraceRowsShown) {
    text += fmt::format("  and {} further rows: --all prints them\n",
                        measured.rows.size() - kTraceRowsShown);
  }
  if (measured.trace.unfolded > 0) {
    text += Wrap(fmt::format("{} of further kinds are not folded: {}",
                             CountText(measured.trace.unfolded, "primitive"),
                             TimeText(measured.trace.unfolded_seconds, style.unicode)),
                 style.width, 2);
  }
  text += SummaryText(measured, style) + ReasonsText(measured, style);
  for (const std::string& note : measured.notes) {
    text += Wrap("note: " + OneLine(note), style.width, 2);
  }
  return text + TopdownText(measured, all, style);
}

}  // namespace topdnn
