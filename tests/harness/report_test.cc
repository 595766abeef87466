#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/files/atomic_file.h"
#include "harness/report/console.h"
#include "harness/report/exports/csv.h"
#include "harness/report/json.h"
#include "harness/report/tables/context_gap.h"
#include "harness/report/tables/tables.h"
#include "harness/results/groups.h"
#include "harness/text/errors.h"
#include "harness/text/style.h"
#include "harness/text/text.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Record Stage(std::string name, std::string op, std::string pass, double seconds, double flops) {
  Record record;
  record.name = std::move(name);
  record.op = std::move(op);
  record.pass = std::move(pass);
  record.regime = "in-network";
  record.implementation = "brgconv:avx512";
  record.seconds = Summary{.median = seconds, .min = seconds / 2, .p90 = seconds * 1.5, .n = 50};
  record.flops = flops;
  record.ceiling_flops_per_second = 200e9;
  record.ceiling_name = "fma f32 avx512";
  return record;
}

Report SampleReport() {
  Report report;
  report.command = "profile cnn --train";
  report.machine = Json{{"cpu", "test"}};
  report.subject = {{"network", Json("cnn")}, {"batch", Json(8)}};
  report.step = Stage("step", "", "", 10e-3, 1e9);
  report.items_per_step = 8;
  report.stages = {Stage("conv1", "conv", "forward", 2e-3, 0.2e9),
                   Stage("conv1", "conv", "backward_data", 3e-3, 0.2e9),
                   Stage("conv1", "conv", "backward_weights", 4e-3, 0.2e9),
                   Stage("sgd", "sgd", "update", 0.5e-3, 1e6)};
  report.stages[3].flops.reset();
  return report;
}

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class FolderTest : public ::testing::Test {
 protected:
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                  std::filesystem::directory_iterator()));
  }

  const TestFolder made;
  const std::string folder = made.path();
};

TEST(RecordTest, FiguresNeedTheirParts) {
  Record record = Stage("a", "conv", "forward", 1e-3, 1e8);
  EXPECT_DOUBLE_EQ(*record.Gflops(), 100);
  EXPECT_DOUBLE_EQ(*record.PeakFraction(), 0.5);
  record.ceiling_flops_per_second.reset();
  EXPECT_FALSE(record.PeakFraction());
  record.status = Status::kFailed;
  EXPECT_FALSE(record.Gflops());
  EXPECT_EQ(NameOf(Status::kOk), "OK");
  EXPECT_EQ(NameOf(Status::kFailed), "FAILED");
}

TEST(JsonTest, KeepsTheContract) {
  const auto json = nlohmann::json::parse(JsonText(ToJson(SampleReport())));
  EXPECT_EQ(json["schema"], 1);
  for (const char* key : {"command", "machine", "network", "batch", "step", "stages"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["step"]["images_per_second"], 800);
  EXPECT_DOUBLE_EQ(json["step"]["gflops"], 100);
  EXPECT_DOUBLE_EQ(json["step"]["seconds"]["median"], 10e-3);
  EXPECT_EQ(json["step"]["seconds"]["n"], 50);
  ASSERT_EQ(json["stages"].size(), 4u);
  for (const char* key : {"name", "op", "pass", "backend", "implementation", "status", "reason",
                          "seconds", "flops", "flops_counted", "bytes", "gflops", "peak_fraction",
                          "events", "running_fraction", "topdown", "topdown_bounds"}) {
    EXPECT_TRUE(json["stages"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["stages"][0]["status"], "OK");
  EXPECT_EQ(json["stages"][0]["pass"], "forward");
  EXPECT_EQ(json["stages"][0]["flops"], 200000000);
  EXPECT_TRUE(json["stages"][0]["reason"].is_null());
  EXPECT_TRUE(json["stages"][0]["topdown"].is_null());
  EXPECT_TRUE(json["stages"][0]["events"].is_object());
  EXPECT_TRUE(json["stages"][3]["flops"].is_null());
  EXPECT_TRUE(json["stages"][3]["gflops"].is_null());
}

TEST(JsonTest, SecondsListTheirSamples) {
  Report report = SampleReport();
  EXPECT_FALSE(ToJson(report)["step"]["seconds"].contains("samples"));
  report.step.samples = {0.5, 0.25};
  report.stages[0].samples = std::vector<double>(50, 0.125);
  const auto json = ToJson(report);
  EXPECT_EQ(json["step"]["seconds"]["samples"], Json({0.5, 0.25}));
  EXPECT_EQ(json["step"]["seconds"]["samples_of"], 50);
  EXPECT_EQ(json["stages"][0]["seconds"]["samples"].size(), 50u);
  EXPECT_FALSE(json["stages"][0]["seconds"].contains("samples_of"));
}

TEST(JsonTest, GroupsHaveASpreadOrASumOfMedians) {
  Report report = SampleReport();
  AddGroups({}, report);
  report.groups[0].per_iteration = Summary{.median = 2e-3, .min = 1e-3, .p90 = 3e-3, .n = 50};
  const auto json = ToJson(report);
  ASSERT_EQ(json["groups"].size(), 3u);
  EXPECT_EQ(json["groups"][0]["name"], "forward");
  EXPECT_EQ(json["groups"][0]["seconds"]["p90"], 3e-3);
  EXPECT_TRUE(json["groups"][0]["sum_of_medians"].is_null());
  EXPECT_TRUE(json["groups"][1]["seconds"].is_null());
  EXPECT_DOUBLE_EQ(json["groups"][1]["sum_of_medians"], 7e-3);
  EXPECT_EQ(json["groups"][1]["stages"], 2);
  EXPECT_NEAR(json["remainder_seconds"].get<double>(), 0.5e-3, 1e-12);
}

TEST(JsonTest, ValuesThatAreNotFiniteOrAbsentAreNull) {
  Report report = SampleReport();
  report.machine.json()["odd"] = kNan;
  Record& stage = report.stages[0];
  stage.flops = kNan;
  stage.bytes = std::numeric_limits<double>::infinity();
  stage.events = {{"cycles", std::nullopt}, {"slots", 12345.0}, {"odd", kNan}};
  stage.topdown = {{"Retiring", 0.5}, {"Backend_Bound", std::nullopt}};
  stage.topdown_bounds = {{"Retiring", {0.25, 0.75, "counts"}}};
  report.step.seconds->median = 0;  // a rate of infinity
  const std::string text = JsonText(ToJson(report));
  const auto json = nlohmann::json::parse(text);  // (refuses bare NaN)
  EXPECT_TRUE(json["machine"]["odd"].is_null());
  EXPECT_TRUE(json["stages"][0]["flops"].is_null());
  EXPECT_TRUE(json["stages"][0]["bytes"].is_null());
  EXPECT_TRUE(json["stages"][0]["events"]["cycles"].is_null());
  EXPECT_TRUE(json["stages"][0]["events"]["odd"].is_null());
  EXPECT_EQ(json["stages"][0]["events"]["slots"], 12345);
  EXPECT_EQ(json["stages"][0]["topdown"]["Retiring"], 0.5);
  EXPECT_TRUE(json["stages"][0]["topdown"]["Backend_Bound"].is_null());
  EXPECT_EQ(json["stages"][0]["topdown_bounds"]["Retiring"][1], 0.75);
  EXPECT_TRUE(json["stages"][0]["topdown_bounds_reason"].is_null());
  stage.topdown_bounds.reset();
  stage.bounds_reason = "the record is DEGRADED";
  EXPECT_EQ(ToJson(stage)["topdown_bounds_reason"], "the record is DEGRADED");
  EXPECT_TRUE(ToJson(stage)["topdown_bounds"].is_null());
  EXPECT_TRUE(json["step"]["images_per_second"].is_null());
}

TEST(JsonTest, AFailedRecordHasNoTime) {
  Record failed = Stage("conv1", "conv", "forward", 1e-3, 1e8);
  failed.status = Status::kFailed;
  failed.reason = "differs from the reference by 0.5 at (0,0,0,1)";
  const auto json = ToJson(failed);
  EXPECT_TRUE(json["seconds"].is_null());
  EXPECT_TRUE(json["gflops"].is_null());
  EXPECT_TRUE(json["peak_fraction"].is_null());
  EXPECT_EQ(json["status"], "FAILED");
  EXPECT_EQ(json["reason"], failed.reason);
}

TEST(JsonTest, BytesThatAreNotUtf8DoNotStopAReport) {
  Report report = SampleReport();
  report.command = "profile \xff";
  EXPECT_TRUE(nlohmann::json::accept(JsonText(ToJson(report))));
}

TEST(CsvTest, OneRowPerStageWithEmptyFieldsForAbsentValues) {
  Report report = SampleReport();
  report.stages.resize(2);
  report.stages[0].events = {{"page-faults", 3.0}};
  report.stages[0].reason = "a, \"b\"";
  report.stages[1].status = Status::kFailed;
  EXPECT_EQ(CsvText(report),
            "name,op,pass,regime,implementation,isa,status,reason,seconds_median,seconds_min,"
            "seconds_p90,n,flops,flops_counted,bytes,gflops,peak_fraction,running_fraction,"
            "event:page-faults\n"
            "conv1,conv,forward,in-network,brgconv:avx512,,OK,\"a, \"\"b\"\"\",0.002,0.001,0.003,"
            "50,200000000,,,100,0.5,,3\n"
            "conv1,conv,backward_data,in-network,brgconv:avx512,,FAILED,,,,,,200000000,,,,,,\n");
}

TEST_F(FolderTest, WritesCompleteFilesAndLeavesNoOthers) {
  const std::string path = folder + "/out.json";
  WriteFileAtomically(path, "first");
  chmod(path.c_str(), 0640);
  WriteFileAtomically(path, "second");
  EXPECT_EQ(Contents(path), "second");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  CheckWritable(folder + "/other.json");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(FolderTest, ASymbolicLinkIsKept) {
  const std::string link = folder + "/link";
  WriteFileAtomically(folder + "/real", "old");
  std::filesystem::create_symlink("real", link);
  WriteFileAtomically(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Contents(folder + "/real"), "new");
}

TEST_F(FolderTest, ADeviceIsWrittenAndNotReplaced) {
  WriteFileAtomically("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(FolderTest, AFailedWriteIsOneLine) {
  for (const std::string& path : {folder + "/none/out.json", folder, std::string()}) {
    for (const bool check : {false, true}) {
      try {
        check ? CheckWritable(path) : WriteFileAtomically(path, "x");
        ADD_FAILURE() << "wrote '" << path << "'";
      } catch (const InputError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("'" + path + "'"), std::string::npos);
        EXPECT_EQ(what.find('\n'), std::string::npos);
      }
    }
  }
  EXPECT_THROW(WriteFileAtomically("/dev/full", "x"), WriteError);
  EXPECT_EQ(Files(), 0u);
}

TEST(TextTest, ThreeDigitsAndSuitableUnits) {
  EXPECT_EQ(TimeText(1.234, true), "1.23 s");
  EXPECT_EQ(TimeText(0.0123456, true), "12.3 ms");
  EXPECT_EQ(TimeText(0.00099996, true), "1.00 ms");
  EXPECT_EQ(TimeText(123.4e-6, false), "123 us");
  EXPECT_EQ(TimeText(123.4e-6, true), "123 \u00B5s");
  EXPECT_EQ(TimeText(5e-9, true), "5.00 ns");
  EXPECT_EQ(TimeText(std::nullopt, true), "n/a");
  EXPECT_EQ(TimeText(kNan, true), "n/a");
  EXPECT_EQ(ThreeDigits(9.996), "10.0");
  EXPECT_EQ(ThreeDigits(1234.6), "1235");
  EXPECT_EQ(ThreeDigits(0), "0");
  EXPECT_EQ(PercentText(0.1234), "12.3 %");
}

TEST(TextTest, BarsAndCuts) {
  EXPECT_EQ(Bar(1, 4, true), "\u2588\u2588\u2588\u2588");
  EXPECT_EQ(Bar(0.5, 1, true), "\u258C");
  EXPECT_EQ(Bar(0.0001, 2, true), "\u258F ");
  EXPECT_EQ(Bar(0, 2, true), "  ");
  EXPECT_EQ(Bar(0.5, 4, false), "##  ");
  EXPECT_EQ(Bar(7, 2, false), "##");
  EXPECT_EQ(Cut("abcdef", 4, true), "abc\u2026");
  EXPECT_EQ(Cut("abcdef", 4, false), "a...");
  EXPECT_EQ(Cut("abcdef", 2, false), "..");
  EXPECT_EQ(Cut("abc", 3, false), "abc");
  EXPECT_EQ(PadRight("\u00B5s", 4), "\u00B5s  ");
}

TEST(StyleTest, ColourNeedsATerminalAndNoNoColor) {
  TerminalEnvironment here;
  here.term = "xterm";
  EXPECT_FALSE(StyleFor(here).colour);
  here.is_terminal = true;
  EXPECT_TRUE(StyleFor(here).colour);
  here.no_color = "";
  EXPECT_TRUE(StyleFor(here).colour);
  here.no_color = "1";
  EXPECT_FALSE(StyleFor(here).colour);
  EXPECT_TRUE(StyleFor(here).terminal);
  here.no_color = nullptr;
  here.term = "dumb";
  EXPECT_FALSE(StyleFor(here).colour);
}

TEST(StyleTest, TheLocaleDecidesUnicodeAndTheTerminalTheWidth) {
  TerminalEnvironment here;
  EXPECT_FALSE(StyleFor(here).unicode);
  here.lang = "de_DE.utf8";
  EXPECT_TRUE(StyleFor(here).unicode);
  here.lc_all = "C";
  EXPECT_FALSE(StyleFor(here).unicode);
  here.lc_all = "";
  EXPECT_TRUE(StyleFor(here).unicode);
  here.is_terminal = true;
  for (const auto& [columns, width] : {std::pair{40, 80}, {100, 100}, {300, 160}, {0, 110}}) {
    here.columns = columns;
    EXPECT_EQ(StyleFor(here).width, width);
    EXPECT_TRUE(StyleFor(here).cut);
  }
}

TEST(StyleTest, InAPipeOnlyColumnsLimitsTables) {
  TerminalEnvironment here;
  EXPECT_EQ(StyleFor(here).width, 110);
  EXPECT_FALSE(StyleFor(here).cut);
  here.columns_variable = "100";
  EXPECT_EQ(StyleFor(here).width, 100);
  EXPECT_TRUE(StyleFor(here).cut);
  for (const char* odd : {"", "wide", "-5", "99999999999999999999"}) {
    here.columns_variable = odd;
    EXPECT_EQ(StyleFor(here).width, 110) << odd;
    EXPECT_FALSE(StyleFor(here).cut) << odd;
  }
  here.columns_variable = "100";
  here.is_terminal = true;
  here.columns = 90;
  EXPECT_EQ(StyleFor(here).width, 90);
}

TEST(ConsoleTest, TheRemainderMakesTheSharesAddUp) {
  Report report = SampleReport();
  AddGroups({}, report);  // 2 + 7 + 0.5 of 10 ms
  const std::string text =
      ConsoleText(report, {.colour = false, .unicode = false, .terminal = false, .width = 106});
  EXPECT_NE(text.find("\nremainder                        5.0    0.500\n"), std::string::npos)
      << text;
  report.stages[1].seconds->median = 4e-3;
  AddGroups({}, report);
  EXPECT_NE(ConsoleText(report, Style{}).find("  -5.0   -0.500\n"), std::string::npos);
}

TEST(ConsoleTest, DrawsTheTable) {
  Report report = SampleReport();
  report.stages[2].status = Status::kFailed;
  report.stages[2].reason = "differs from the reference";
  AddGroups({}, report);
  report.notes = {{.text = "warm-up: not steady", .main = true}, {.text = "an empty stage"}};
  const std::string rule(99, '-');
  EXPECT_EQ(
      ConsoleText(report, {.colour = false, .unicode = false, .terminal = false, .width = 106}),
      "network cnn, batch 8\n"
      "verdict: OK\n"
      "  conv1 backward weights: FAILED: differs from the reference\n"
      "most time: conv1 backward data 30.0 % (33.3 % of peak); conv1 forward 20.0 % (50.0 % of "
      "peak); sgd update\n  5.0 %\n\n"
      "stage     pass              share %  time ms  GFLOP/s  peak %                "
      "implementation  status\n" +
          rule +
          "\n"
          "conv1     forward              20.0    2.00     100      50.0  ########      "
          "brgconv:avx512\n"
          "conv1     backward data        30.0    3.00      66.7    33.3  ############  "
          "brgconv:avx512\n"
          "conv1     backward weights      n/a      n/a      n/a     n/a                "
          "brgconv:avx512  FAILED\n"
          "sgd       update                5.0    0.500      n/a     n/a  ##            "
          "brgconv:avx512\n" +
          rule +
          "\n"
          "forward   1 stage              20.0    2.00     100      50.0  ##\n"
          "backward  2 stages              n/a      n/a      n/a     n/a\n"
          "update    1 stage               5.0    0.500      n/a     n/a  #\n" +
          rule +
          "\n"
          "step: 10.0 ms (min 5.00 ms, p90 15.0 ms, n 50), 800 images/s, 100 GFLOP/s, 50.0 % of "
          "peak (fma f32 avx512)\n"
          "warm-up: not steady\n"
          "--explain prints 1 more note\n");
}

TEST(ConsoleTest, ColourOnlyAddsEscapesAndLinesFit) {
  Report report = SampleReport();
  report.stages[0].name = "inception_4e/5x5_reduce_with_a_very_long_name_indeed";
  report.stages[0].implementation = "brgconv_1x1:avx512_core_bf16+post_ops:relu+bias+sum";
  report.stages[1].status = Status::kDegraded;
  report.stages[1].reason = "x";
  for (const int width : {80, 100, 120}) {
    Style style{.colour = true, .unicode = true, .terminal = true, .width = width};
    const std::string coloured = ConsoleText(report, style);
    style.colour = false;
    const std::string plain = ConsoleText(report, style);
    EXPECT_EQ(plain.find('\x1b'), std::string::npos);
    std::string stripped;
    for (std::size_t i = 0; i < coloured.size(); ++i) {
      if (coloured[i] == '\x1b')
        i = coloured.find('m', i);
      else
        stripped += coloured[i];
    }
    EXPECT_NE(coloured, plain);
    EXPECT_EQ(stripped, plain);
    std::istringstream lines(plain);
    for (std::string line; std::getline(lines, line) && !line.starts_with("step: ");) {
      EXPECT_LE(ColumnsOfText(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

Summary SecondsOf(double seconds) { return Summarize(std::vector<double>{seconds}); }

Record StageWithRegimes(const std::string& name, const std::string& pass, double hot, double cold,
                        double in_network) {
  Record record;
  record.name = name;
  record.pass = pass;
  record.seconds_by_regime = {{"isolated-hot", SecondsOf(hot)},
                              {"isolated-cold", SecondsOf(cold)},
                              {"in-network", SecondsOf(in_network)}};
  return record;
}

TEST(ContextGapTest, CachesExplainAtMostTheCostOfColdCaches) {
  const ContextGap colder{.hot = 1.0, .cold = 3.0, .in_network = 2.5};
  EXPECT_DOUBLE_EQ(colder.CachesAtMost(), 1.5);
  EXPECT_DOUBLE_EQ(colder.Rest(), 0.0);
  const ContextGap beyond{.hot = 1.0, .cold = 1.5, .in_network = 2.5};
  EXPECT_DOUBLE_EQ(beyond.CachesAtMost(), 0.5);
  EXPECT_DOUBLE_EQ(beyond.Rest(), 1.0);
  const ContextGap faster{.hot = 1.0, .cold = 2.0, .in_network = 0.75};
  EXPECT_DOUBLE_EQ(faster.CachesAtMost(), 0.0);
  EXPECT_DOUBLE_EQ(faster.Rest(), -0.25);
  const ContextGap cold_is_hot{.hot = 1.0, .cold = 0.5, .in_network = 1.25};
  EXPECT_DOUBLE_EQ(cold_is_hot.CachesAtMost(), 0.0);
  EXPECT_DOUBLE_EQ(cold_is_hot.Rest(), 0.25);
}

TEST(ContextGapTest, SumsKernelsAndReordersAndNeedsAllThreeTimes) {
  Report report;
  report.stages = {StageWithRegimes("conv1", "forward", 0.002, 0.004, 0.003),
                   StageWithRegimes("conv1.weights", "reorder", 0.001, 0.001, 0.001)};
  const Style plain{.colour = false, .unicode = false, .width = 160};
  const std::string text = ContextGapText(report, plain);
  EXPECT_NE(text.find("conv1.weights"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00 x the kernels by themselves with hot caches: +1.00 ms of reorders, at "
                      "most +1.00 ms for colder caches, +0 ns for the rest"),
            std::string::npos)
      << text;
  report.stages.front().status = Status::kFailed;
  const std::string without_kernels = ContextGapText(report, plain);
  EXPECT_NE(without_kernels.find("conv1.weights"), std::string::npos) << without_kernels;
  EXPECT_EQ(without_kernels.find("by themselves"), std::string::npos) << without_kernels;
  for (Record& stage : report.stages) stage.seconds_by_regime.erase("isolated-cold");
  EXPECT_EQ(ContextGapText(report, plain), "");
}

TEST(ContextGapTest, AFailedStageHasNone) {
  Record record = StageWithRegimes("conv1", "forward", 1, 2, 3);
  record.status = Status::kFailed;
  EXPECT_FALSE(ContextGapOf(record));
}

TEST(DramTableTest, HasCountedAndCompulsoryBytesOfCountedStages) {
  Report report = SampleReport();
  const Style style = {.unicode = false};
  EXPECT_EQ(DramTableText(report, style), "");
  report.stages[0].events = {{"dram/read_bytes", 30e6}, {"dram/write_bytes", 10e6}};
  report.stages[0].bytes = 8e6;
  report.stages[1].events = {{"dram/read_bytes", 5e6}, {"dram/write_bytes", std::nullopt}};
  const std::string text = DramTableText(report, style);
  // 40 MB in 2 ms.
  EXPECT_EQ(text,
            "\n"
            "DRAM   pass              read MB  written MB  least MB  GB/s\n"
            "conv1  forward             30.0         10.0      8.00  20.0\n"
            "conv1  backward data        5.00         n/a       n/a   n/a\n"
            "conv1  backward weights      n/a         n/a       n/a   n/a\n"
            "sgd    update                n/a         n/a       n/a   n/a\n"
            "step                         n/a         n/a       n/a   n/a\n");
  EXPECT_EQ(ToJson(report.stages[0])["dram_gb_per_second"], 20);
  EXPECT_TRUE(ToJson(report.stages[1])["dram_gb_per_second"].is_null());
}

TEST(ProgressLineTest, IsErasedAndOnlyForTerminals) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    ProgressLine silent(Style{}, stream);
    silent.Show("nothing");
  }
  std::fflush(stream);
  EXPECT_EQ(size, 0u);
  {
    ProgressLine line({.colour = false, .unicode = false, .terminal = true, .width = 80}, stream);
    line.Show("conv1 3/10");
  }
  std::fclose(stream);
  EXPECT_EQ(std::string(text, size), "\r\x1b[Kconv1 3/10\r\x1b[K");
  std::free(text);
}

}  // namespace
}  // namespace topdnn
