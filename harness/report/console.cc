#include "harness/report/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/opening.h"
#include "harness/report/text.h"

namespace topdnn {

namespace {

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kCyan = "\x1b[36m";

std::string Coloured(const char* code, const std::string& text, const Style& style) {
  return style.colour ? code + text + "\x1b[0m" : text;
}

std::string WithoutTrailingSpace(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<double> MedianOf(const Record& record) {
  if (record.status == Status::kFailed || !record.seconds) return std::nullopt;
  return record.seconds->median;
}

std::optional<double> Ratio(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || !(*whole > 0)) return std::nullopt;
  return *part / *whole;
}

// One line of the table, as text.
struct Line {
  std::string name, pass, share, time, gflops, peak, executed;
  double bar = 0;  // of the longest
  std::string implementation;
  Status status = Status::kOk;
};

// The widths of the columns; those of figures are fixed. A column of width 0 is left out.
struct Widths {
  static constexpr std::size_t kGap = 2;
  static constexpr std::size_t kShare = 7, kTime = 9, kGflops = 8, kPeak = 7, kStatus = 8;
  static constexpr std::size_t kLeastName = 13, kLeastBar = 6, kMostBar = 12;
  static constexpr std::size_t kLeastImplementation = 8;
  static constexpr std::size_t kExecuted = 8;
  static constexpr int kExecutedFrom = 100;  // columns of the terminal
  std::size_t name = 9, pass = 9, executed = 0, bar = 0, implementation = 14;
};

// FLOPs executed over those of the definition, which is where padding, masked lanes, partial sums
// and cheaper algorithms show.
std::optional<double> ExecutedRatio(const Record& record) {
  return Ratio(record.flops_counted, record.flops);
}
std::string ExecutedText(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "n/a";
}

// A status that the step has for the same reason is printed once, above the table.
bool StandsOut(const Record& stage, const Report& report) {
  return stage.status != report.step.status || stage.reason != report.step.reason;
}

// Names and figures come first, then implementations, and the bar takes what is left.
Widths WidthsFor(const Report& report, const Style& style) {
  Widths widths;
  bool flagged = false;
  for (const Record& stage : report.stages) {
    widths.name = std::max(widths.name, ColumnsOfText(stage.name));
    widths.pass = std::max(widths.pass, ColumnsOfText(stage.pass));
    widths.implementation = std::max(widths.implementation, ColumnsOfText(stage.implementation));
    flagged = flagged || StandsOut(stage, report);
    if (stage.flops_counted && style.width >= Widths::kExecutedFrom) {
      widths.executed = Widths::kExecuted;
    }
  }
  widths.pass = std::min<std::size_t>(widths.pass, 16);
  constexpr std::size_t kGap = Widths::kGap;
  const std::size_t fixed =
      widths.pass + Widths::kShare + Widths::kTime + Widths::kGflops + Widths::kPeak + 5 * kGap +
      (widths.executed > 0 ? widths.executed + kGap : 0) + (flagged ? Widths::kStatus + kGap : 0);
  const std::size_t least_rest = Widths::kLeastBar + widths.implementation + 2 * kGap;
  // (at 80 columns, with everything else at its widest, 13 are left)
  std::size_t left = static_cast<std::size_t>(std::max(style.width, 80)) - fixed;
  widths.name =
      std::min(widths.name, std::max(Widths::kLeastName, left - std::min(left, least_rest)));
  left -= widths.name;
  const auto take = [&left](std::size_t least, std::size_t most) {
    if (left < least + kGap) return std::size_t{0};
    const std::size_t width = std::min(most, left - kGap);
    left -= width + kGap;
    return width;
  };
  const std::size_t for_bar = Widths::kLeastBar + kGap;
  const bool both = left >= for_bar + Widths::kLeastImplementation + kGap;
  if (both) left -= for_bar;
  widths.implementation = take(Widths::kLeastImplementation, widths.implementation);
  if (both) left += for_bar;
  widths.bar = take(Widths::kLeastBar, Widths::kMostBar);
  return widths;
}

std::string Joined(const std::vector<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells) {
    if (!text.empty()) text += std::string(Widths::kGap, ' ');
    text += cell;
  }
  return WithoutTrailingSpace(text) + "\n";
}

std::string CutAndPad(const std::string& text, std::size_t columns, const Style& style) {
  return PadRight(Cut(text, columns, style.unicode), columns);
}

std::string Head(const Widths& widths, const Style& style) {
  std::vector<std::string> cells = {
      PadRight("stage", widths.name),      PadRight("pass", widths.pass),
      PadLeft("share", Widths::kShare),    PadLeft("time", Widths::kTime),
      PadLeft("GFLOP/s", Widths::kGflops), PadLeft("peak", Widths::kPeak)};
  if (widths.executed > 0) cells.push_back(PadLeft("executed", widths.executed));
  if (widths.bar > 0) cells.push_back(PadRight("", widths.bar));
  if (widths.implementation > 0) {
    cells.push_back(CutAndPad("implementation", widths.implementation, style));
  }
  std::string line = Joined(cells);
  line.pop_back();
  return Coloured(kBold, line, style) + "\n";
}

// The padding stays outside of the colour, so that it can be dropped at the end of a line.
std::string ColouredBar(double share, std::size_t columns, const Style& style) {
  const std::string bar = WithoutTrailingSpace(Bar(share, columns, style.unicode));
  const std::string padding(columns - ColumnsOfText(bar), ' ');
  return (bar.empty() ? "" : Coloured(kCyan, bar, style)) + padding;
}

std::string Drawn(const Line& line, const Widths& widths, const Style& style) {
  std::vector<std::string> cells = {
      CutAndPad(line.name, widths.name, style), CutAndPad(line.pass, widths.pass, style),
      PadLeft(line.share, Widths::kShare),      PadLeft(line.time, Widths::kTime),
      PadLeft(line.gflops, Widths::kGflops),    PadLeft(line.peak, Widths::kPeak)};
  if (widths.executed > 0) cells.push_back(PadLeft(line.executed, widths.executed));
  if (widths.bar > 0) cells.push_back(ColouredBar(line.bar, widths.bar, style));
  if (widths.implementation > 0) {
    cells.push_back(CutAndPad(line.implementation, widths.implementation, style));
  }
  if (line.status != Status::kOk) {
    const bool wrong = line.status == Status::kFailed || line.status == Status::kInvalid;
    cells.push_back(Coloured(wrong ? kRed : kYellow, std::string(NameOf(line.status)), style));
  }
  return Joined(cells);
}

std::string StageLines(const Report& report, const Widths& widths, const Style& style) {
  double longest = 0;
  for (const Record& stage : report.stages)
    longest = std::max(longest, MedianOf(stage).value_or(0));
  const std::optional<double> step = MedianOf(report.step);
  std::string text;
  for (const Record& stage : report.stages) {
    const std::optional<double> median = MedianOf(stage);
    text += Drawn({.name = stage.name,
                   .pass = WordsOf(stage.pass),
                   .share = PercentText(Ratio(median, step)),
                   .time = TimeText(median, style.unicode),
                   .gflops = FigureText(stage.Gflops()),
                   .peak = PercentText(stage.PeakFraction()),
                   .executed = ExecutedText(ExecutedRatio(stage)),
                   .bar = Ratio(median, longest).value_or(0),
                   .implementation = stage.implementation,
                   .status = StandsOut(stage, report) ? stage.status : Status::kOk},
                  widths, style);
  }
  return text;
}

// The row that makes the groups' shares add up to 100 %.
std::string RemainderLine(const Report& report, const Widths& widths, const Style& style) {
  const std::optional<double> seconds = report.remainder_seconds;
  if (!seconds) return "";
  std::optional<double> share = Ratio(seconds, MedianOf(report.step));
  if (share && std::abs(*share) < 0.0005) share = 0;  // not "-0.0 %"
  // (times are formatted without a sign)
  const std::string sign = *seconds < 0 ? "-" : "";
  return Drawn({.name = "remainder",
                .pass = "",
                .share = PercentText(share),
                .time = sign + TimeText(std::abs(*seconds), style.unicode),
                .gflops = "",
                .peak = "",
                .executed = "",
                .bar = 0,
                .implementation = "",
                .status = Status::kOk},
               widths, style);
}

std::string TotalLines(const Report& report, const Widths& widths, const Style& style) {
  const std::optional<double> step = MedianOf(report.step);
  std::string text;
  for (const GroupSummary& group : report.groups) {
    const std::optional<double> share = Ratio(group.seconds, step);
    text += Drawn({.name = group.name,
                   .pass = fmt::format("{} stage{}", group.stages, group.stages == 1 ? "" : "s"),
                   .share = PercentText(share),
                   .time = TimeText(group.seconds, style.unicode),
                   .gflops = FigureText(group.gflops),
                   .peak = PercentText(group.peak_fraction),
                   .executed = "",
                   .bar = share.value_or(0),
                   .implementation = "",
                   .status = Status::kOk},
                  widths, style);
  }
  return text + RemainderLine(report, widths, style);
}

// "step  12.3 ms (min 12.1 ms, p90 12.9 ms, n 60)  10400 images/s  ..."
std::string StepLine(const Report& report, const Style& style) {
  const std::optional<double> median = MedianOf(report.step);
  std::string text = Coloured(kBold, "step  " + TimeText(median, style.unicode), style);
  if (median) {
    const Summary& seconds = *report.step.seconds;
    text += fmt::format(" (min {}, p90 {}, n {})", TimeText(seconds.min, style.unicode),
                        TimeText(seconds.p90, style.unicode), seconds.n);
  }
  const std::optional<double> rate = Ratio(report.items_per_step, median);
  text += fmt::format("  {} images/s", FigureText(rate));
  text += fmt::format("  {} GFLOP/s", FigureText(report.step.Gflops()));
  text += fmt::format("  {} of peak", PercentText(report.step.PeakFraction()));
  if (!report.step.ceiling_name.empty()) text += fmt::format(" ({})", report.step.ceiling_name);
  return text + "\n";
}

// "network cnn, batch 64, dtype f32"
std::string SubjectLine(const Report& report, const Style& style) {
  std::string text;
  for (const auto& [name, value] : report.subject) {
    if (!text.empty()) text += ", ";
    text += name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text.empty() ? "" : Wrap(text, style.width, 2);
}

// The main notes, or all of them.
std::string NotesText(const Report& report, const Style& style, bool explain) {
  constexpr std::size_t kMostMain = 2;  // and one line that says how to see the others
  std::string text;
  std::size_t shown = 0;
  for (const Note& note : report.notes) {
    if (!explain && (!note.main || shown == kMostMain)) continue;
    text += Wrap(note.text, style.width, 2);
    ++shown;
  }
  if (const std::size_t others = report.notes.size() - shown; others > 0) {
    text += fmt::format("--explain prints {} more note{}\n", others, others == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

std::string ConsoleText(const Report& report, const Style& style, const ConsoleOptions& options) {
  const Widths widths = WidthsFor(report, style);
  std::string rule;
  for (int i = 0; i < style.width; ++i) rule += style.unicode ? "\u2500" : "-";
  rule = Coloured(kDim, rule, style) + "\n";
  std::string text = SubjectLine(report, style);
  text += VerdictText(report, style) + CostliestText(report, style) + "\n";
  text += Head(widths, style) + rule + StageLines(report, widths, style) + rule;
  text += TotalLines(report, widths, style) + rule + StepLine(report, style);
  if (report.partial)
    text += Coloured(kYellow, "partial: interrupted, stages are missing", style) + "\n";
  return text + NotesText(report, style, options.explain);
}

}  // namespace topdnn
