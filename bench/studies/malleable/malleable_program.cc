#include "bench/studies/malleable/malleable_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/live/preloaded_program.h"
#include "bench/studies/malleable/width_page.h"
#include "bench/studies/process/child_program.h"
#include "bench/studies/results/result_file.h"
#include "harness/files/atomic_file.h"
#include "harness/machine/cgroup.h"
#include "harness/report/json.h"
#include "harness/statistics/summary.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "harness/width/width_limits.h"
#include "harness/width/width_watcher.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kOption = "malleable --program";

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class SharedWidth {
 public:
  std::string path() const { return memory_.path(); }
  void Allow(int width) { __atomic_store_n(&page_->width, width, __ATOMIC_RELAXED); }
  std::uint64_t regions() const { return __atomic_load_n(&page_->regions, __ATOMIC_RELAXED); }
  std::uint64_t own() const { return __atomic_load_n(&page_->own, __ATOMIC_RELAXED); }
  std::uint64_t asked() const { return __atomic_load_n(&page_->asked, __ATOMIC_RELAXED); }

 private:
  ProgramMemory memory_{"topdnn-width", "memory for the width", sizeof(WidthPage)};
  WidthPage* page_ = static_cast<WidthPage*>(memory_.data());
};

using Figures = std::vector<double>;

Figures FiguresOf(const std::vector<ProgramRun>& runs,
                  const std::function<double(const ProgramRun&)>& figure) {
  Figures figures;
  for (const ProgramRun& run : runs) figures.push_back(figure(run));
  return figures;
}

std::optional<double> StoppedSeconds(const std::vector<ProgramRun>& runs) {
  Figures figures;
  for (const ProgramRun& run : runs) {
    if (run.stopped_seconds) figures.push_back(*run.stopped_seconds);
  }
  return MedianIfAny(figures);
}

double WallSeconds(const ProgramRun& run) { return run.seconds; }
double CpuSeconds(const ProgramRun& run) { return run.cpu_seconds; }
double Preempted(const ProgramRun& run) { return static_cast<double>(run.preempted); }

void AddRow(const char* name, const std::vector<ProgramRun>& runs, bool unicode, Table& table) {
  const Figures seconds = FiguresOf(runs, WallSeconds);
  table.Add({name, TimeText(Median(seconds), unicode),
             fmt::format("{} to {}", TimeText(std::ranges::min(seconds), unicode),
                         TimeText(std::ranges::max(seconds), unicode)),
             TimeText(Median(FiguresOf(runs, CpuSeconds)), unicode),
             TimeText(StoppedSeconds(runs), unicode),
             fmt::format("{:.0f}", Median(FiguresOf(runs, Preempted)))});
}

std::string RoundsText(const ProgramRounds& rounds, const Style& style) {
  using enum Table::Kind;
  Table table({{.name = "program", .kind = kWord},
               {.name = "wall time", .kind = kRight},
               {.name = "least to most", .kind = kRight, .rank = 1},
               {.name = "CPU time", .kind = kRight},
               {.name = "stopped by the quota", .kind = kRight},
               {.name = "preempted", .kind = kRight, .rank = 2}});
  AddRow("unchanged", rounds.unchanged, style.unicode, table);
  AddRow("follows the limit", rounds.following, style.unicode, table);
  const std::optional<Interval> ratio = rounds.Ratio();
  const std::size_t count = rounds.following.size();
  return table.Text(style) +
         (ratio
              ? fmt::format("time when it follows: {:.3f} to {:.3f} of the unchanged program's (95 "
                            "% interval, {} rounds)\n",
                            ratio->low, ratio->high, count)
              : fmt::format("{} rounds: too few for an interval of the ratio; give --rounds 6\n",
                            count));
}

std::string WidthsText(const ProgramRun& run) {
  std::vector<std::string> words;
  for (const AllowedWidth& change : run.widths) {
    words.push_back(words.empty() ? fmt::format("{}", change.width)
                                  : fmt::format("{} after {:.1f} s", change.width, change.seconds));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// What to know about a run that followed.
std::string RunText(const ProgramRun& run, bool unicode) {
  std::string text = fmt::format(
      "width: {}; {} regions followed, {} have a width of their own (num_threads)\n"
      "{} of wall time, {} of CPU time, stopped by the quota for {}\n",
      WidthsText(run), run.regions, run.own_regions, TimeText(run.seconds, unicode),
      TimeText(run.cpu_seconds, unicode), TimeText(run.stopped_seconds, unicode));
  if (run.regions + run.asked == 0) {
    text +=
        "nothing followed: the program does not use GCC's libgomp, or sets the width of each "
        "region\n";
  }
  return text;
}

Json ToJson(const ProgramRun& run) {
  Json widths = Json::array();
  for (const AllowedWidth& change : run.widths) {
    widths.push_back({{"seconds", change.seconds}, {"width", change.width}});
  }
  return {{"status", run.end.status},       {"seconds", run.seconds},
          {"cpu_seconds", run.cpu_seconds}, {"stopped_seconds", JsonNumber(run.stopped_seconds)},
          {"preempted", run.preempted},     {"regions", run.regions},
          {"own_regions", run.own_regions}, {"widths", std::move(widths)}};
}

void WriteJson(const ProgramOptions& options, const ProgramRounds& rounds) {
  Json json = NewResult({{"program", options.arguments}, {"ratio", IntervalJson(rounds.Ratio())}});
  for (const auto& [key, runs] :
       {std::pair("unchanged", &rounds.unchanged), std::pair("following", &rounds.following)}) {
    json[key] = Json::array();
    for (const ProgramRun& run : *runs) json[key].push_back(ToJson(run));
  }
  WriteFileAtomically(options.json, JsonText(json));
}

}  // namespace

std::optional<Interval> ProgramRounds::Ratio() const {
  Figures ratios;
  for (std::size_t i = 0; i < std::min(unchanged.size(), following.size()); ++i) {
    if (unchanged[i].seconds > 0) ratios.push_back(following[i].seconds / unchanged[i].seconds);
  }
  return MedianInterval(ratios);
}

ProgramRun RunProgramWithWidth(const std::vector<std::string>& arguments, bool follows,
                               int output) {
  PreloadedProgram program(kOption, arguments, "libtopdnn_width.so");
  SharedWidth shared;
  program.variables()[WIDTH_PAGE_VARIABLE] = shared.path();
  ProgramRun run;
  const auto read_limit = [&](double seconds) {
    const int width = WidthLimit(AffinityOfProcess());
    if (!run.widths.empty() && run.widths.back().width == width) return;
    shared.Allow(width);
    run.widths.push_back({seconds, width});
  };
  if (follows) read_limit(0);
  const std::optional<CgroupThrottling> before = ReadCgroupThrottling();
  const Clock::time_point begin = Clock::now();
  Clock::time_point read = begin;
  program.Start(output);
  const auto [status, used] = program.Wait([&] {
    if (!follows || Clock::now() - read < kWatchPeriod) return;
    read = Clock::now();
    read_limit(SecondsSince(begin));
  });
  run.seconds = SecondsSince(begin);
  run.end = ProgramEndOf(status);
  run.cpu_seconds = CpuSecondsOf(used);
  run.preempted = used.ru_nivcsw;
  const std::optional<CgroupThrottling> after = ReadCgroupThrottling();
  if (before && after) run.stopped_seconds = after->seconds - before->seconds;
  run.regions = shared.regions();
  run.own_regions = shared.own();
  run.asked = shared.asked();
  return run;
}

int RunMalleableProgram(const ProgramOptions& options) {
  if (options.arguments.empty()) {
    throw UsageError("--program: give a command: topdnn malleable --program -- COMMAND");
  }
  CheckOutputs({options.json}, {});
  // (a result on standard output stands there alone)
  const int output = options.json == kStandardOutput ? STDERR_FILENO : STDOUT_FILENO;
  ProgramRounds rounds;
  ProgramEnd failed;
  for (int round = 0; round < options.rounds.value_or(1) && failed.status == 0; ++round) {
    // The order changes from round to round, so that a drift of the machine favours neither.
    for (const bool follows : {round % 2 != 0, round % 2 == 0}) {
      if (!options.rounds && !follows) continue;
      ProgramRun run = RunProgramWithWidth(options.arguments, follows, output);
      if (Interrupted()) return kExitInterrupted;
      if (run.end.status != 0) failed = run.end;
      (follows ? rounds.following : rounds.unchanged).push_back(std::move(run));
      if (failed.status != 0) break;
    }
  }
  Outputs outputs;  // (before the text, whose reader may end early)
  outputs.Write(options.json, [&] { WriteJson(options, rounds); });
  const Style style = DetectStyle(stderr);
  if (failed.status != 0) {
    fmt::print(stderr, "topdnn: malleable: {} {}\n", OneLine(options.arguments.front()),
               failed.end);
  } else if (!options.quiet) {
    if (options.rounds) fmt::print(stderr, "{}", RoundsText(rounds, style));
    fmt::print(stderr, "{}", RunText(rounds.following.back(), style.unicode));
  }
  outputs.Finish();
  return failed.status;
}

}  // namespace topdnn
