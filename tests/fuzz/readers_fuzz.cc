// libFuzzer targets of the readers of files and words: arbitrary bytes for the reader that
// TOPDNN_FUZZ_READER names. Each reader either takes its input or refuses it as bad input, which
// ends the program with status 2 (bench/command_line/ending.h). Anything else is a finding: another
// exception, an inconsistent result, and exceeding libFuzzer's limits of memory and time.

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/Error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/choice/races/selection_cache.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/ending.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/command_line/plugin_words.h"
#include "bench/command_line/program_parser.h"
#include "bench/formats/npz.h"
#include "bench/formats/safetensors.h"
#include "bench/studies/compare/comparison.h"
#include "bench/studies/compare/comparison_report.h"
#include "bench/studies/compare/exact_comparison.h"
#include "bench/studies/compare/exact_report.h"
#include "bench/studies/corun/corun_words.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "bench/studies/malleable/control_client.h"
#include "bench/studies/results/result_file.h"
#include "bench/studies/results/result_page.h"
#include "bench/studies/sweep/sweep_axes.h"
#include "bench/validation/known_checks.h"
#include "harness/counters/energy/meter.h"
#include "harness/hot/known_form_costs.h"
#include "harness/results/recording.h"
#include "harness/scheduling/trace.h"
#include "harness/topdown/event_file.h"
#include "harness/topdown/topdown_reading.h"
#include "harness/user_cache/remembered_best.h"
#include "harness/width/control_messages.h"
#include "kernels/op/problem.h"

namespace topdnn {
namespace {

using Json = nlohmann::ordered_json;

void Require(bool holds) {
  if (!holds) std::abort();
}

// The path of a file with this content.
std::string FileOf(std::string_view bytes) {
  static const int fd = memfd_create("input", 0);
  const auto size = static_cast<ssize_t>(bytes.size());
  Require(ftruncate(fd, 0) == 0 && pwrite(fd, bytes.data(), bytes.size(), 0) == size);
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
}

void ReadEvents(std::string_view text) {
  const RecordedCounts recorded = ParseRecordedCounts(text, "fuzzed");
  const std::vector<std::string> groups = recorded.Groups();
  const TopdownTable& table = FindTopdownTable(text.size() % 2 == 0 ? "sapphire_rapids" : "zen4");
  ReadTopdown(table, recorded, {});
  if (!groups.empty()) ReadTopdown(table, recorded, {.group = groups.front()});
}

void RequireSame(const NpyArray& a, const NpyArray& b) {
  Require(a.shape == b.shape && a.type == b.type && a.data == b.data);
}

void ReadNpy(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  const NpyArray array = DecodeNpy({bytes, bytes + text.size()}, "fuzzed");
  RequireSame(DecodeNpy(EncodeNpy(array), "written"), array);
}

void ReadArchive(std::string_view bytes) { ReadNpz(FileOf(bytes)); }

void ReadTensors(std::string_view bytes) { DecodeSafetensors(bytes, "fuzzed"); }

void ReadSamples(std::string_view text) {
  const std::string written = FormatRecording(ParseRecording(text, "fuzzed"));
  Require(FormatRecording(ParseRecording(written, "written")) == written);
}

void DrawResult(std::string_view text) {
  const ResultFile result = ReadResult(FileOf(text));
  try {
    PageDataOf(result);
  } catch (const Json::exception&) {  // (as documented)
  }
}

// A result compared with itself.
void CompareResult(std::string_view text) {
  const ResultFile result = ReadResult(FileOf(text));
  const Comparison comparison = CompareResults(PairResults(result, result));
  Require(comparison.Significant() == 0 && !comparison.SlowerThan(0));
  ComparisonText(comparison, true, {});
  ComparisonJson(comparison, "a", "b");
}

void CompareCounts(std::string_view text) {
  const Baseline baseline = ReadBaseline(FileOf(text));
  const ExactComparison comparison = CompareExact(baseline, baseline);
  Require(comparison.Different() == 0 && Exceeded(comparison, {{"instructions", 0}}).empty());
  ExactText(comparison, true, {});
  ExactJson(comparison, "a", "b");
}

// The bytes as each file of the user's cache, which any later run must be able to replace.
void ReadCaches(std::string_view text) {
  const CacheFolder cache(std::filesystem::absolute("cache"));
  std::filesystem::create_directory(cache.path());
  for (const char* const name :
       {kSelectionFile, kBestFile, kChecksFile, kFormCostsFile, kTrialsFile}) {
    std::ofstream(cache.path() / name, std::ios::binary) << text;
  }
  ReadRememberedBest(cache, "machine");
  Require(UpdateRememberedBest(cache, "machine", {{"rate", 1, 0.1}}).empty());
  Require(ReadRememberedBest(cache, "machine").contains("rate"));
  const Cpu cpu{};
  FormCosts costs = ReadFormCosts(cache, cpu);
  costs.dispatch_width = costs.load = 1;
  Require(StoreFormCosts(cache, cpu, costs).empty());
  Require(ReadFormCosts(cache, cpu).dispatch_width == 1);
  ReadKnownChecks(cache, "key");
  WriteKnownChecks(cache, "key", {{.name = "stage"}});
  Require(ReadKnownChecks(cache, "key").has_value());
  const KernelTrials trials(cache, "machine");
  SelectionCache((cache.path() / kSelectionFile).string()).Add({"problem", "machine"}, {"variant"});
  const SelectionCache again((cache.path() / kSelectionFile).string());
  Require(again.Find({"problem", "machine"}).has_value());
}

void ReadJobs(std::string_view text) {
  const auto accept = [](const std::string&) { return std::string(); };
  const std::vector<TraceJob> jobs = ParseTrace(text, "fuzzed", 8, accept);
  Require(ParseTrace(TraceText(jobs), "written", 8, accept) == jobs);
}

void ReadSpeeds(std::string_view text) { ReadSpeedModel(FileOf(text)); }

void ReadPower(std::string_view text) {
  try {
    MeanWatts(ParseMeterCsv(text, "fuzzed"), 0, 1e9);
  } catch (const MeterError&) {
  }
}

void ReadMessage(std::string_view packet) {
  WidthControl control(1, 4, 2);
  const std::string reply = AnswerControl(packet, 1, control);
  Require(Json::accept(reply) && control.wanted() >= 1 && control.wanted() <= 4);
  ParseControlReply(packet);
}

// Each line is an argument.
void ReadArguments(std::string_view text) {
  std::vector<std::string> words = {"topdnn", ""};
  for (const char c : text) {
    if (c == '\n') {
      words.emplace_back();
    } else if (c != '\0') {
      words.back() += c;
    }
  }
  Require(SplitWords(JoinedWords(words)) == words);
  words = WithJoinedValues(std::move(words));
  static ProgramParser parser;  // (its construction takes longer than parsing)
  try {
    parser.app().parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
  } catch (const CLI::ParseError&) {
  }
}

// The first character selects one of the values that commands read from a word.
void ReadWord(std::string_view text) {
  const std::string word(text.substr(text.empty() ? 0 : 1));
  switch (text.empty() ? '\0' : text[0]) {
    case 'd':
      ParseDuration("--duration", word);
      return;
    case 'w':
      ParseCorunList(word);
      return;
    case 'a':
      for (const SweepAxis& axis : SweepAxes()) {
        try {
          ParseAxis(axis, word);
        } catch (const InputError&) {
        }
      }
      return;
    case 's':
      SplitWords(word);
      return;
    default:
      ParseProblem(word)->Problem();
  }
}

const std::map<std::string, void (*)(std::string_view)> kReaders = {
    {"events", ReadEvents},     {"npy", ReadNpy},
    {"npz", ReadArchive},       {"safetensors", ReadTensors},
    {"recording", ReadSamples}, {"result", DrawResult},
    {"compare", CompareResult}, {"exact", CompareCounts},
    {"caches", ReadCaches},     {"jobs", ReadJobs},
    {"speeds", ReadSpeeds},     {"power", ReadPower},
    {"message", ReadMessage},   {"arguments", ReadArguments},
    {"word", ReadWord}};

}  // namespace
}  // namespace topdnn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto read = topdnn::kReaders.at(std::getenv("TOPDNN_FUZZ_READER"));
  try {
    read({reinterpret_cast<const char*>(data), size});
  } catch (const std::exception&) {
    const topdnn::Ending ending = topdnn::EndingOf(std::current_exception());
    if (ending.status == topdnn::kExitUsage) return 0;
    std::fprintf(stderr, "%s\n", ending.line.c_str());
    std::abort();
  }
  return 0;
}
