// topdnn/harness.h, as a program in C uses it: only the functions that libtopdnn.so exports.

#include "harness/c_api/topdnn/harness.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
using Profile = std::unique_ptr<topdnn_profile, decltype(&topdnn_profile_close)>;

Profile Opened(double seconds = 0.05) {
  topdnn_profile_options options = {};
  options.size = sizeof options;
  options.command = "a command";
  options.program = "a test";
  options.seconds = seconds;
  return {topdnn_profile_open(&options), topdnn_profile_close};
}

Json JsonOf(const Profile& profile) {
  char* const text = topdnn_profile_json(profile.get());
  EXPECT_NE(text, nullptr) << topdnn_error();
  Json json = text == nullptr ? Json() : Json::parse(text);
  topdnn_text_free(text);
  return json;
}

// Until that many seconds have passed.
void Spin(double seconds) {
  const std::uint64_t begin = topdnn_now();
  while (topdnn_seconds_between(begin, topdnn_now()) < seconds) {
  }
}

void RunStage(const Profile& profile, std::int32_t stage, double seconds) {
  ASSERT_EQ(topdnn_stage_begin(profile.get(), stage), 0) << topdnn_error();
  Spin(seconds);
  ASSERT_EQ(topdnn_stage_end(profile.get()), 0) << topdnn_error();
}

struct Count {
  std::optional<double> value;
  std::string reason;
};
std::map<std::string, Count> Taken(topdnn_counts* counts) {
  std::map<std::string, Count> taken;
  for (std::size_t i = 0; i < topdnn_counts_size(counts); ++i) {
    Count& count = taken[topdnn_counts_name(counts, i)];
    double value = 0;
    if (topdnn_counts_value(counts, i, &value) == 1) count.value = value;
    EXPECT_EQ(topdnn_counts_value(counts, i, nullptr), count.value ? 1 : 0);
    count.reason = topdnn_counts_reason(counts, i);
  }
  topdnn_counts_free(counts);
  return taken;
}

TEST(CApiTest, StagesHaveTimesAndAVerdict) {
  const Profile profile = Opened();
  const std::int32_t first = topdnn_profile_stage(profile.get(), "first", "forward");
  const std::int32_t second = topdnn_profile_stage(profile.get(), "second", "backward");
  EXPECT_EQ(topdnn_profile_stage(profile.get(), "first", "forward"), first);
  EXPECT_NE(topdnn_profile_stage(profile.get(), "first", "backward"), first);
  while (topdnn_profile_next(profile.get()) == 1) {
    RunStage(profile, first, 100e-6);
    RunStage(profile, second, 50e-6);
    RunStage(profile, second, 50e-6);
  }
  const Json json = JsonOf(profile);
  EXPECT_EQ(json["command"], "a command");
  EXPECT_EQ(json["program"], "a test");
  EXPECT_TRUE(json["machine"].contains("cpu"));
  ASSERT_EQ(json["stages"].size(), 2);  // the third one never ran
  EXPECT_EQ(json["stages"][0]["name"], "first");
  EXPECT_EQ(json["stages"][1]["pass"], "backward");
  // A stage that runs twice in a step has the sum of its times, without those of the marks.
  for (const Json& stage : json["stages"]) {
    EXPECT_GE(stage["seconds"]["min"].get<double>(), 98e-6) << stage;
    EXPECT_GE(stage["seconds"]["n"], 5);
    EXPECT_NE(stage["status"], "INVALID") << stage;
  }
  EXPECT_GE(json["step"]["seconds"]["min"].get<double>(), 196e-6);
}

TEST(CApiTest, AStepBeginsWhereItsFirstStageBeginsAgain) {
  const Profile profile = Opened();
  const std::int32_t first = topdnn_profile_stage(profile.get(), "first", nullptr);
  const std::int32_t rare = topdnn_profile_stage(profile.get(), "rare", nullptr);
  const std::int32_t last = topdnn_profile_stage(profile.get(), "last", nullptr);
  for (int step = 0; step < 12; ++step) {
    RunStage(profile, first, 20e-6);
    if (step == 5) RunStage(profile, rare, 20e-6);
    RunStage(profile, last, 20e-6);
  }
  const Json json = JsonOf(profile);
  EXPECT_EQ(topdnn_profile_steps(profile.get()), 12);
  EXPECT_EQ(json["stages"].size(), 2);
  // Too few to be steady: all but the first one are used, but for the one with another stage.
  EXPECT_EQ(json["step"]["status"], "DEGRADED");
  EXPECT_THAT(json["step"]["reason"].get<std::string>(), HasSubstr("ended in the warm-up"));
  EXPECT_THAT(json["notes"].dump(), HasSubstr("1 steps had other stages than most"));
}

TEST(CApiTest, WrongUseGivesOneLine) {
  const auto fails = [](std::int32_t result, const char* reason) {
    EXPECT_LT(result, 0);
    EXPECT_THAT(topdnn_error(), HasSubstr(reason));
    EXPECT_EQ(std::string(topdnn_error()).find('\n'), std::string::npos);
  };
  fails(topdnn_step_begin(nullptr), "the profile is NULL");
  const Profile profile = Opened();
  fails(topdnn_stage_begin(profile.get(), 0), "there is no stage 0");
  fails(topdnn_stage_end(profile.get()), "no stage runs");
  fails(topdnn_step_end(profile.get()), "no step runs");
  fails(topdnn_profile_stage(profile.get(), "", ""), "a stage needs a name");
  EXPECT_EQ(topdnn_profile_json(profile.get()), nullptr);
  EXPECT_THAT(topdnn_error(), HasSubstr("there is no whole step"));
  const std::int32_t outer = topdnn_profile_stage(profile.get(), "outer", nullptr);
  const std::int32_t inner = topdnn_profile_stage(profile.get(), "in\nner", nullptr);
  ASSERT_EQ(topdnn_step_begin(profile.get()), 0);
  ASSERT_EQ(topdnn_stage_begin(profile.get(), outer), 0);
  fails(topdnn_stage_begin(profile.get(), inner), "'in\\nner' begins inside of stage 'outer'");
  fails(topdnn_step_end(profile.get()), "a step ends inside of stage 'outer'");
  ASSERT_EQ(topdnn_stage_end(profile.get()), 0);
  ASSERT_EQ(topdnn_step_end(profile.get()), 0);
  fails(topdnn_stage_begin(profile.get(), outer), "stage 'outer' runs outside of a step");
  EXPECT_LT(topdnn_counters_start(nullptr), 0);
  EXPECT_THAT(topdnn_error(), HasSubstr("the counters are NULL"));
  EXPECT_EQ(topdnn_counters_stop(nullptr), nullptr);
  const char* unknown = "no-such-event";
  EXPECT_EQ(topdnn_counters_open(&unknown, 1), nullptr);
  EXPECT_THAT(topdnn_error(), HasSubstr("unknown event 'no-such-event'"));
  EXPECT_EQ(topdnn_counters_open(nullptr, 0), nullptr);
  EXPECT_EQ(topdnn_counters_open(nullptr, 1), nullptr);
  EXPECT_THAT(topdnn_error(), HasSubstr("there is no event to count"));
  EXPECT_EQ(topdnn_count(nullptr, nullptr), nullptr);
  EXPECT_THAT(topdnn_error(), HasSubstr("there is no function to count"));
}

// Skips where no exact count is possible.
#define TOPDNN_COUNTED_OR_SKIP(counts) \
  if ((counts) == nullptr) GTEST_SKIP() << topdnn_error()

void Add1000(void* sum) {
#if defined(__x86_64__)
  for (int k = 0; k < 1000; ++k) asm volatile("addsd %0, %0" : "+x"(*static_cast<double*>(sum)));
#endif
}

TEST(CApiTest, CountsAFunctionExactly) {
  double sum = 0;
  topdnn_counts* const counts = topdnn_count(Add1000, &sum);
  TOPDNN_COUNTED_OR_SKIP(counts);
  const auto taken = Taken(counts);
  EXPECT_EQ(taken.at("exact/FP_ARITH_INST_RETIRED.SCALAR_DOUBLE").value, 1000);
  EXPECT_EQ(taken.at("exact/flops").value, 1000);
  EXPECT_GT(taken.at("exact/instructions").value, 1000);
}

TEST(CApiTest, CountsOneFunctionAtATime) {
  std::string error;
  topdnn_counts* const counts = topdnn_count(
      [](void* text) {
        double sum = 0;
        if (topdnn_count(Add1000, &sum) == nullptr) {
          *static_cast<std::string*>(text) = topdnn_error();
        }
      },
      &error);
  TOPDNN_COUNTED_OR_SKIP(counts);
  topdnn_counts_free(counts);
  EXPECT_THAT(error, HasSubstr("a count is already running"));
}

TEST(CApiTest, AnotherPoolMakesACountIncomplete) {
  topdnn_counts* const counts = topdnn_count(
      [](void*) {
        double sum = 0;
        std::thread([&sum] { Add1000(&sum); }).join();
      },
      nullptr);
  TOPDNN_COUNTED_OR_SKIP(counts);
  for (const auto& [name, count] : Taken(counts)) {
    EXPECT_EQ(count.value, std::nullopt) << name;
    EXPECT_NE(count.reason, "") << name;
  }
}

// Python's wheels bring a renamed copy of libgomp, beside the one of the system.
TEST(CApiTest, CountsTheWorkersOfARenamedLibgomp) {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  Dl_info system = {};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "GOMP_parallel"), &system), 0);
  if (std::string(system.dli_fname).find("libgomp") == std::string::npos) {
    GTEST_SKIP() << "an instrumented build has another OpenMP";
  }
  const TestFolder folder;
  const std::string copy = folder.path() / "libgomp-a34b3233.so.1.0.0";
  std::filesystem::copy_file(system.dli_fname, copy);
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  static Parallel parallel = nullptr;
  parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  ASSERT_NE(reinterpret_cast<void*>(parallel), dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  const auto region = [](void*) {
    const auto share = [](void*) {
      double sum = 0;
      Add1000(&sum);
    };
    parallel(share, nullptr, 2, 0);
  };
  region(nullptr);  // starts its thread
  topdnn_counts* const counts = topdnn_count(region, nullptr);
  TOPDNN_COUNTED_OR_SKIP(counts);
  const auto taken = Taken(counts);
  const Count& flops = taken.at("exact/FP_ARITH_INST_RETIRED.SCALAR_DOUBLE");
  EXPECT_EQ(flops.value, 2000) << flops.reason;
  EXPECT_GT(taken.at("exact/openmp_instructions").value, 0);
}

std::uint64_t Nanoseconds(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
}

// Works for 5 ms; returns the thread's CPU time in ns for it.
std::uint64_t Work() {
  constexpr std::uint64_t kWork = 5000000;
  const std::uint64_t begin = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  while (Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin < kWork) {
  }
  return Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin;
}

// The calling thread, one that exists before, and one that is started meanwhile.
TEST(CApiTest, CountersCoverAllThreads) {
  const char* events[] = {"task-clock", "page-faults"};
  topdnn_counters* const counters = topdnn_counters_open(events, 2);
  ASSERT_NE(counters, nullptr) << topdnn_error();
  std::atomic<bool> go{false};
  std::atomic<std::uint64_t> worked{0};
  std::thread before([&] {
    go.wait(false);  // without CPU time
    worked += Work();
  });
  const std::uint64_t process = Nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  ASSERT_EQ(topdnn_counters_start(counters), 0);
  go = true;
  go.notify_one();
  worked += Work();
  std::thread([&] { worked += Work(); }).join();
  before.join();
  const auto taken = Taken(topdnn_counters_stop(counters));
  const std::uint64_t most = Nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - process;
  topdnn_counters_close(counters);
  const Count& clock = taken.at("task-clock");
  ASSERT_TRUE(clock.value) << clock.reason;
  // (the kernel's two clocks differ by its own work at the ends)
  EXPECT_GE(*clock.value, 0.98 * static_cast<double>(worked));
  EXPECT_LE(*clock.value, 1.02 * static_cast<double>(most));
}

TEST(CApiTest, CountersSeeFaultsAndSwitches) {
  constexpr std::size_t kPage = 4096, kPages = 64;
  const char* events[] = {"page-faults", "context-switches"};
  topdnn_counters* const counters = topdnn_counters_open(events, 2);
  ASSERT_NE(counters, nullptr) << topdnn_error();
  void* const memory =
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
  ASSERT_EQ(topdnn_counters_start(counters), 0);
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * kPage] = 1;
  for (int i = 0; i < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto taken = Taken(topdnn_counters_stop(counters));
  topdnn_counters_close(counters);
  munmap(memory, kPages * kPage);
  EXPECT_GE(taken.at("page-faults").value, kPages);
#if !defined(__SANITIZE_THREAD__)  // (its shadow memory faults as well)
  EXPECT_LT(taken.at("page-faults").value, 2 * kPages);
#endif
  EXPECT_GE(taken.at("context-switches").value, 3);
}

TEST(CApiTest, AnEventThatIsNotCountedIsAbsentWithAReason) {
  const char* events[] = {"cycles"};
  topdnn_counters* const counters = topdnn_counters_open(events, 1);
  ASSERT_NE(counters, nullptr) << topdnn_error();
  ASSERT_EQ(topdnn_counters_start(counters), 0);
  Spin(0.002);
  const auto taken = Taken(topdnn_counters_stop(counters));
  topdnn_counters_close(counters);
  const Count& cycles = taken.at("cycles");
  if (cycles.value) {
    EXPECT_GT(*cycles.value, 0);
  } else {
    EXPECT_NE(cycles.reason, "");
  }
}

TEST(CApiTest, TheLibraryExportsItsFunctionsAlone) {
  const Outcome symbols = RunShell("nm -D --defined-only " +
                                   Quoted(TOPDNN_BINARY_DIR "/libtopdnn.so") + " | cut -d' ' -f3");
  ASSERT_EQ(symbols.exit_status, 0);
  EXPECT_THAT(symbols.output, HasSubstr("topdnn_count\n"));
  EXPECT_THAT(RunShell("echo " + Quoted(symbols.output) + " | grep -v '^topdnn_'").output,
              testing::MatchesRegex("\n*"));
}

// In C, with all warnings, against the header as it is installed.
TEST(CApiTest, AProgramInCIsCompiledAndRuns) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime cannot be loaded into a program without it";
#endif
  const TestFolder folder;
  const std::string program = Quoted((folder.path() / "stages").string());
  const Outcome compiled =
      RunShell("cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I " +
               Quoted(TOPDNN_SOURCE_DIR "/harness/c_api") + " " +
               Quoted(TOPDNN_SOURCE_DIR "/examples/harness/stages.c") + " -o " + program + " -L " +
               Quoted(TOPDNN_BINARY_DIR) + " -ltopdnn -Wl,-rpath," + Quoted(TOPDNN_BINARY_DIR));
  ASSERT_EQ(compiled.exit_status, 0) << compiled.output;
  const Outcome ran = RunShell(program);
  EXPECT_EQ(ran.exit_status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("sort"));
  EXPECT_THAT(ran.output, HasSubstr("task-clock: "));
}

}  // namespace
}  // namespace topdnn
