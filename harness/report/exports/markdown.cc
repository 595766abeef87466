// A summary of a profile in GitHub's Markdown, for a pull request or an issue: verdict, machine,
// the costliest stages, and notes.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/console.h"
#include "harness/report/exports/exported.h"
#include "harness/report/opening.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"
#include "harness/text/one_line.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxStages = 10;
// One line for each text, and no colours.
constexpr Style kStyle = {.unicode = true, .width = std::numeric_limits<int>::max()};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The text as one line that Markdown shows as it is: no markup, HTML, table cell or list begins in
// it, and no user is mentioned ('@' gets an invisible character after it). Characters that have a
// meaning only at the start of a line, such as '#', are escaped there (CommonMark 0.29, 2.4; GitHub
// Flavored Markdown 0.29, 4.10).
std::string Escaped(std::string_view text) {
  const std::string line = OneLine(text);
  std::string escaped;
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t digits = static_cast<std::size_t>(
      std::find_if_not(line.begin() + static_cast<std::ptrdiff_t>(start), line.end(), IsDigit) -
      line.begin());
  for (std::size_t i = start; i < line.size(); ++i) {
    const char c = line[i];
    const bool markup = std::string_view("\\`*_[]<>|~&").find(c) != std::string_view::npos;
    const bool begins = i == start && std::string_view("#+-=").find(c) != std::string_view::npos;
    const bool numbers = i == digits && digits > start && (c == '.' || c == ')');
    if (markup || begins || numbers) escaped += '\\';
    escaped += c;
    if (c == '@') escaped += "\u2060";  // WORD JOINER
  }
  return escaped;
}

// Each line of a text as an item of a list.
std::string Items(std::string_view lines) {
  std::string items;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (const std::string item = Escaped(lines.substr(0, end)); !item.empty()) {
      items += "- " + item + "\n";
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return items;
}

std::string RowText(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

// The timed stages, the costliest first.
std::vector<const Record*> Costliest(const Report& report) {
  std::vector<const Record*> stages;
  for (const Record& stage : report.stages) {
    if (ExportedTime(stage)) stages.push_back(&stage);
  }
  std::stable_sort(stages.begin(), stages.end(), [](const Record* a, const Record* b) {
    return a->seconds->median > b->seconds->median;
  });
  return stages;
}

std::string TableText(const Report& report) {
  const std::vector<const Record*> stages = Costliest(report);
  if (stages.empty()) return "";
  const auto step = ExportedTime(report.step) ? SecondsForShares(report) : std::nullopt;
  const auto share = [&step](double seconds) {
    return PercentText(step ? std::optional(seconds / *step) : std::nullopt);
  };
  std::string text = RowText({"stage", "pass", "share", "time", "GFLOP/s", "of peak", "status",
                              "implementation"}) +
                     "| :--- | :--- | ---: | ---: | ---: | ---: | :--- | :--- |\n";
  double rest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Record& stage = *stages[i];
    const double seconds = stage.seconds->median;
    if (i >= kMaxStages) {
      rest += seconds;
      continue;
    }
    text += RowText({Escaped(stage.name), Escaped(WordsOf(stage.pass)), share(seconds),
                     TimeText(seconds, true), FigureText(stage.Gflops()),
                     PercentText(stage.PeakFraction()), std::string(NameOf(stage.status)),
                     Escaped(stage.implementation)});
  }
  if (stages.size() > kMaxStages) {
    text += RowText({fmt::format("{} others", stages.size() - kMaxStages), "", share(rest),
                     TimeText(rest, true), "", "", "", ""});
  }
  return text;
}

std::string NotesText(const Report& report) {
  std::string items;
  for (const std::string& warning : report.warnings) items += Items(OneLine(warning));
  if (report.partial) items += "- partial: interrupted, stages are missing\n";
  std::size_t others = 0;
  for (const Note& note : report.notes) {
    if (note.main) {
      items += Items(OneLine(note.text));
    } else {
      ++others;
    }
  }
  if (others > 0) {
    items += fmt::format("- `--explain` prints {}\n",
                         CountText(static_cast<std::int64_t>(others), "more note"));
  }
  return items.empty() ? "" : "\nNotes:\n\n" + items;
}

std::string MarkdownText(const Report& report) {
  std::string text = "### topdnn profile\n\n";
  text += Items(OneLine(SubjectText(report))) + Items(OneLine(MachineText(report)));
  text += Items(VerdictText(report, kStyle));
  const bool timed = ExportedTime(report.step).has_value();
  if (timed) text += Items(StepText(report, kStyle));
  if (const std::string table = TableText(report); !table.empty()) text += "\n" + table;
  return text + NotesText(report);
}

const ReportRegistration kMarkdown(FileReport{
    .name = "markdown",
    .help = "write a summary to this file in Markdown, for a pull request or an issue",
    .text = MarkdownText});

}  // namespace

}  // namespace topdnn
