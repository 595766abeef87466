// Impossible values of options are refused before anything runs, in one line and with status 2.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/command_line/benchmark_flags.h"
#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class RefusedValueTest : public testing::TestWithParam<RefusedCommand> {};

TEST(NumbersTest, ALeadingZeroDoesNotMakeANumberOctal) {
  const Outcome outcome = RunProgram({"plan", "lenet5", "--infer", "--batch", "010"});
  EXPECT_EQ(outcome.exit_status, kExitGood);
  EXPECT_THAT(outcome.output, testing::HasSubstr("batch 10,"));
}

TEST_P(RefusedValueTest, IsOneLineAndStatusTwo) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Numbers, RefusedValueTest,
    testing::Values(
        RefusedCommand{{"profile", "cnn", "--seconds", "inf"}, "--seconds inf: must be a number"},
        RefusedCommand{{"profile", "cnn", "--seconds", "nan"}, "from 0 to 1e+06"},
        RefusedCommand{{"profile", "cnn", "--seconds", "1e308"}, "from 0 to 1e+06"},
        RefusedCommand{{"profile", "cnn", "--seconds", "5s"}, "--seconds 5s"},
        RefusedCommand{{"efficiency", "cnn", "--seconds", "inf"}, "--seconds inf"},
        RefusedCommand{{"profile", "cnn", "--seed", "-1"}, "must be a whole number, 0 or more"},
        RefusedCommand{{"step", "cnn", "--seed", "18446744073709551616"},
                       "to 18446744073709551615"},
        RefusedCommand{{"train", "cnn", "--learning-rate", "nan"}, "--learning-rate nan"},
        RefusedCommand{{"train", "cnn", "--learning-rate", "1e39"}, "--learning-rate 1e39"},
        RefusedCommand{{"train", "cnn", "--learning-rate", "-1"}, "--learning-rate -1"},
        RefusedCommand{{"train", "cnn", "--momentum", "inf"}, "--momentum inf"},
        RefusedCommand{{"train", "cnn", "--weight-decay", "-inf"}, "--weight-decay -inf"},
        RefusedCommand{{"train", "cnn", "--warmup-epochs", "inf"}, "--warmup-epochs inf"},
        RefusedCommand{{"profile", "cnn", "--batch", "99999999999999999999"},
                       "to 9223372036854775807"},
        RefusedCommand{{"profile", "cnn", "--batch", "8.5"}, "must be a whole number"},
        RefusedCommand{{"profile", "cnn", "--iterations", "0x10"}, "--iterations 0x10"}));

INSTANTIATE_TEST_SUITE_P(
    Plans, RefusedValueTest,
    testing::Values(
        RefusedCommand{{"plan", "cnn", "--plan", "tensorflw"},
                       "no plan 'tensorflw'; did you mean tensorflow?; there are: best tensorflow "
                       "tensorflow-eigen"},
        RefusedCommand{{"sweep", "--plan", "torch", "--out", "nowhere"}, "there are: best"},
        RefusedCommand{{"plan", "cnn", "--plan", "tensorflow", "--backend", "openblas"},
                       "--plan tensorflow with --backend openblas: this plan runs on onednn"},
        RefusedCommand{{"plan", "cnn", "--plan", "tensorflow-eigen", "--backend", "onednn"},
                       "--plan tensorflow-eigen with --backend onednn: this plan runs on eigen"},
        RefusedCommand{{"plan", "cnn", "--plan", "tensorflow-eigen", "--backend", "auto"},
                       "--plan tensorflow-eigen with --backend auto: this plan runs on eigen"},
        RefusedCommand{{"profile", "cnn", "--plan", "tensorflow", "--dtype", "bf16"},
                       "take --dtype f32"},
        RefusedCommand{{"profile", "cnn", "--plan", "tensorflow", "--weight-decay", "0.1"},
                       "leave --weight-decay out"}));

INSTANTIATE_TEST_SUITE_P(
    Empty, RefusedValueTest,
    testing::Values(RefusedCommand{{"profile", "cnn", "--threads", ""}, "--threads: is empty"},
                    RefusedCommand{{"profile", "cnn", "--threads="}, "--threads"},
                    RefusedCommand{{"profile", "cnn", "--json", ""}, "--json: is empty"},
                    RefusedCommand{{"profile", ""}, "NET: is empty"},
                    RefusedCommand{{"profile", "cnn", "--seconds", ""}, "--seconds: is empty"},
                    RefusedCommand{{"topdown", "--cpu", "zen4", "--events", ""},
                                   "--events: is empty"}));

INSTANTIATE_TEST_SUITE_P(
    Threads, RefusedValueTest,
    testing::Values(
        RefusedCommand{{"profile", "lenet5", "--threads", "100000", "--oversubscribe"},
                       "4 for each CPU that this process may run on"},
        RefusedCommand{{"profile", "lenet5", "--threads", "2147483647", "--oversubscribe"},
                       "or fewer"},
        RefusedCommand{{"plan", "lenet5", "--threads", "2147483647", "--oversubscribe"},
                       "or fewer"},
        RefusedCommand{{"bench", "--threads", "2147483647"}, "2147483647"},
        RefusedCommand{{"profile", "lenet5", "--threads", "2147483648"}, "2147483647"}));

INSTANTIATE_TEST_SUITE_P(
    GoogleBenchmark, RefusedValueTest,
    testing::Values(
        RefusedCommand{{"bench", "--benchmark_min_time=nan"},
                       "--benchmark_min_time=nan: must be a number"},
        RefusedCommand{{"bench", "--benchmark_min_time=-1"}, "--benchmark_min_time=-1"},
        RefusedCommand{{"bench", "--benchmark_min_time=0"}, "--benchmark_min_time=0"},
        RefusedCommand{{"bench", "--benchmark_min_time="}, "--benchmark_min_time="},
        RefusedCommand{{"bench", "--benchmark_min_time"}, "give it a value"},
        RefusedCommand{{"bench", "--benchmark_repetitions=0"}, "must be a whole number"},
        RefusedCommand{{"bench", "--benchmark_repetitions=1.5"}, "must be a whole number"},
        RefusedCommand{{"bench", "--benchmark_format=xml"}, "must be one of: console json csv"},
        RefusedCommand{{"bench", "--benchmark_format=console json"}, "must be one of"},
        RefusedCommand{{"bench", "--benchmark_out_format=xml"}, "must be one of: json console csv"},
        RefusedCommand{{"bench", "--benchmark_time_unit=h"}, "must be one of: ns us ms s"},
        RefusedCommand{{"bench", "--benchmark_color=red"}, "must be one of"},
        RefusedCommand{{"bench", "--benchmark_list_tests=perhaps"}, "must be true or false"},
        RefusedCommand{{"bench", "--benchmark_out="}, "is empty"},
        RefusedCommand{{"bench", "--benchmark_out=-"}, "--benchmark_format=json"},
        RefusedCommand{{"bench", "--benchmark_out=/no/such/folder/x"}, "/no/such/folder/x"},
        RefusedCommand{{"bench", "--benchmark_fliter=cnn"}, "did you mean --benchmark_filter?"},
        RefusedCommand{{"bench", "--benchmark_filter=("}, "not a regular expression"}));

TEST(BenchmarkFlagsTest, TheEnvironmentIsCheckedAsWell) {
  const Outcome outcome = RunShell("BENCHMARK_MIN_TIME=nan " TOPDNN_BINARY_DIR "/topdnn bench");
  EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("BENCHMARK_MIN_TIME=nan"));
}

TEST(BenchmarkFlagsTest, OurFlagsAreRemovedAndTheOthersPassedOn) {
  const BenchmarkFlags flags = ReadBenchmarkFlags(
      {"--benchmark_filter=a=b", "--benchmark_out=x", "--benchmark_out_format=csv",
       "--benchmark_list_tests", "--benchmark_min_time=0.5", "--v=2"});
  EXPECT_EQ(flags.passed_on, (std::vector<std::string>{"--benchmark_filter=a=b",
                                                       "--benchmark_min_time=0.5", "--v=2"}));
  EXPECT_EQ(flags.out, "x");
  EXPECT_EQ(flags.out_format, "csv");
  EXPECT_TRUE(flags.list);
  EXPECT_FALSE(ReadBenchmarkFlags({"--benchmark_list_tests=false"}).list);
}

// Google Benchmark 1.8's forms, for 1.7.1: a unit, a number of iterations, and a dry run.
TEST(BenchmarkFlagsTest, NewerFormsOfTheMinimumTime) {
  const BenchmarkFlags time = ReadBenchmarkFlags({"--benchmark_min_time=0.01s"});
  EXPECT_EQ(time.passed_on, std::vector<std::string>{"--benchmark_min_time=0.01"});
  EXPECT_EQ(time.min_time, 0.01);
  EXPECT_FALSE(time.iterations);
  const BenchmarkFlags count = ReadBenchmarkFlags({"--benchmark_min_time=5x"});
  EXPECT_THAT(count.passed_on, testing::IsEmpty());
  EXPECT_EQ(count.iterations, 5);
  const BenchmarkFlags dry = ReadBenchmarkFlags({"--benchmark_dry_run"});
  EXPECT_EQ(dry.iterations, 1);
  EXPECT_EQ(dry.passed_on.front(), "--benchmark_repetitions=1");
  // In any order.
  const BenchmarkFlags first = ReadBenchmarkFlags(
      {"--benchmark_dry_run", "--benchmark_min_time=0.05", "--benchmark_repetitions=7"});
  EXPECT_EQ(first.iterations, 1);
  EXPECT_EQ(first.passed_on[first.passed_on.size() - 2], "--benchmark_repetitions=1");
  for (const std::string bad : {"0x", "1.5x", "x", "s", "5xs", "0s"}) {
    EXPECT_THROW(ReadBenchmarkFlags({"--benchmark_min_time=" + bad}), UsageError) << bad;
  }
}

// An option that would change nothing is refused: its user expects that it does.
TEST(UselessOptionsTest, AreRefusedInOneLine) {
  const std::vector<RefusedCommand> commands = {
      {{"profile", "cnn", "--infer", "--optimizer", "adam"},
       "--optimizer: has no effect on inference"},
      {{"profile", "cnn", "--exact-baseline", "b", "--seconds", "9"},
       "--seconds: has no effect with --exact-baseline"},
      {{"profile", "cnn", "--context-gap", "--no-isolated"},
       "--context-gap: has no effect with --no-isolated"},
      {{"profile", "cnn", "--scale-counts", "--counters", "clock"},
       "--scale-counts: has no effect with --counters clock"},
      {{"profile", "cnn", "--loaders", "8", "--prefetch", "2"}, "give --prefetch 8, too"},
      {{"plan", "cnn", "--infer", "--weight-decay", "0.1"}, "--weight-decay: has no effect on"},
      {{"plan", "cnn", "--repro", "--buffers"}, "--buffers: has no effect with --repro"},
      {{"train", "cnn", "--optimizer", "adam", "--momentum", "0.5"},
       "--momentum: has no effect on --optimizer adam"},
      {{"malleable", "--program", "--by", "api", "--", "true"},
       "--by: has no effect with --program"},
      {{"malleable", "cnn", "--steps", "1", "--widths", "1"},
       "--widths: has no effect with --steps"},
      {{"trace", "a.log", "--read-only", "--counters", "auto"},
       "--counters: has no effect with --read-only"},
      {{"trace", "a.log", "--repro", "--rows", "1"}, "--rows: has no effect with --repro"},
      {{"trace", "a.log", "--metrics", "flops"}, "--metrics needs --counters"},
      {{"cosched", "--trace", "t.csv", "--seed", "5"}, "--seed: has no effect with --trace"},
      {{"cosched", "--simulate", "--window", "x"}, "--window x"},
      {{"bench", "--first", "3"}, "--first: has no effect without --problems"},
      {{"bench", "--benchmark_list_tests", "--benchmark_out=x.json"}, "nothing runs"},
      {{"corun", "--matrix", "cnn,probe dram", "--counters", "exact"},
       "--counters: has no effect on"},
      {{"fleet", "status", "study", "--out", "machines"}, "--out: has no effect on status"},
      {{"fleet", "collect", "study", "--resume"}, "--resume: has no effect on collect"},
      {{"fleet", "collect", "study", "--all"}, "--all: has no effect without --compare"}};
  for (const RefusedCommand& command : commands) {
    SCOPED_TRACE(command.message);
    ExpectRefused(command);
    if (HasFailure()) return;  // (commands that are not refused may run long)
  }
}

TEST(BenchmarkFlagsTest, CsvHasQuotesAndAColumnPerCounter) {
  EXPECT_EQ(CsvOfBenchmarks(R"({"context": {"a": 1}, "benchmarks": [
    {"name": "a,b", "run_name": "a,b", "run_type": "iteration", "repetitions": 1,
     "repetition_index": 0, "threads": 1, "iterations": 5, "real_time": 1.5, "cpu_time": 2,
     "time_unit": "ms", "GFLOP/s": 3.25, "label": "a \"label\""},
    {"name": "c", "error_occurred": true, "error_message": "no, never"}]})"),
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,"
            "error_occurred,error_message,GFLOP/s\n"
            "\"a,b\",5,1.5,2,ms,,,\"a \"\"label\"\"\",,,3.25\n"
            "c,,,,,,,,true,\"no, never\",\n");
}

// A link at a predictable temporary name, and the file that it names, are not changed.
TEST(BenchmarkFlagsTest, ResultsAreWrittenAtomically) {
  const TestFolder folder;
  const std::string path = folder.path() / "x.csv";
  const auto victim = folder.Write("victim", "precious");
  std::filesystem::create_symlink(victim, path + ".partial");
  const Outcome outcome = RunProgram(
      {"bench", "--benchmark_filter=cnn/train/n8/conv1/forward/reference",
       "--benchmark_min_time=0.001", "--benchmark_out=" + path, "--benchmark_out_format=csv"});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  std::ifstream file(path);
  const std::string csv((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(csv.starts_with("name,iterations,real_time,")) << csv;
  EXPECT_THAT(csv, HasSubstr("\ncnn/train/n8/conv1/forward/reference"));
  std::ifstream kept(victim);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(kept)), {}), "precious");
}

}  // namespace
}  // namespace topdnn
