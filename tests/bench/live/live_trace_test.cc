// The records of a live run: the memory with its chunks, pairing with the lines of the log, time
// between primitives, and the steps of hand-made sequences.

#include "bench/live/live_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/live/live_events.h"
#include "bench/live/live_memory.h"
#include "bench/live/live_program.h"
#include "bench/live/live_report.h"
#include "bench/live/preloaded_program.h"
#include "bench/live/steps.h"
#include "bench/replay/trace_report.h"
#include "tests/harness/fake_pmu.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::uint32_t> Rows(std::string_view letters) {
  return {letters.begin(), letters.end()};
}

TEST(FindStepsTest, AStepIsTheWholeRepetitionNotALayerInIt) {
  // The layer "bc" is repeated in each step, and the first step makes something ready ("x").
  const FoundSteps steps = FindSteps(Rows("xabcbcbcdabcbcbcdabcbcbcdabcbcbcd"));
  EXPECT_EQ(steps.length, 8u);
  EXPECT_THAT(steps.begins, ElementsAre(1, 9, 17, 25));
}

TEST(FindStepsTest, StepsAroundAnEvaluationAreFound) {
  const FoundSteps steps = FindSteps(Rows("abcdeabcdeabcdeabcdeyzabcdeabcde"));
  EXPECT_EQ(steps.length, 5u);
  EXPECT_THAT(steps.begins, ElementsAre(0, 5, 10, 15, 22, 27));
}

TEST(FindStepsTest, AStepOfOnePrimitiveAndNone) {
  EXPECT_EQ(FindSteps(Rows("aaaa")).length, 1u);
  EXPECT_EQ(FindSteps(Rows("aaaa")).begins.size(), 4u);
  EXPECT_EQ(FindSteps(Rows("abcdefg")).length, 0u);
  EXPECT_THAT(FindSteps(Rows("abcdefg")).begins, IsEmpty());
  EXPECT_EQ(FindSteps({}).length, 0u);
}

std::string LineOf(const std::string& primitive, const std::string& milliseconds) {
  return "onednn_verbose,exec,cpu," + primitive + ",jit:avx2,undef,src_f32::blocked:ab:f0,,,2x3," +
         milliseconds + "\n";
}

LiveRecord Task(std::uint64_t begin, std::uint64_t line, std::uint64_t end, std::uint64_t gap) {
  LiveRecord record = {};
  record.kind = LIVE_TASK;
  record.flags = LIVE_HAS_LINE;
  record.begin = begin;
  record.line = line;
  record.end = end;
  record.gap = gap;
  record.counts[LIVE_TASK_CLOCK] = 2 * (line - begin);
  record.counts[LIVE_FAULTS] = 3;
  std::strcpy(record.name, "reorder");
  return record;
}

TEST(LiveFoldTest, TasksGetTheCountsOfTheirRow) {
  LiveFold fold;
  const LiveWriter main{10, 10};
  fold.Add(main, Task(1'000'000, 1'500'000, 1'600'000, 0), {LineOf("reorder", "0.5")});
  fold.Add(main, Task(2'000'000, 2'200'000, 2'300'000, 400'000), {LineOf("eltwise", "0.2")});
  LiveRecord beside = Task(4'000'000, 5'000'000, 5'100'000, 1'700'000);
  beside.flags |= LIVE_OVERLAPPED;
  fold.Add(main, beside, {LineOf("reorder", "1")});
  EXPECT_EQ(fold.primitives(), 3);
  const LiveTrace live = fold.Finish();
  ASSERT_EQ(live.trace.rows.size(), 2u);
  ASSERT_EQ(live.rows.size(), 2u);
  const TraceRow& reorder = live.trace.rows[0];
  EXPECT_EQ(reorder.primitive, "reorder");
  EXPECT_EQ(reorder.count, 2);
  EXPECT_NEAR(reorder.seconds, 1.5e-3, 1e-12);
  const LiveRow& row = live.rows[reorder.order];
  EXPECT_EQ(row.tasks, 2);
  EXPECT_EQ(row.overlapped, 1);
  EXPECT_NEAR(row.seconds, 1.5e-3, 1e-12);
  EXPECT_NEAR(row.kernel[LIVE_TASK_CLOCK], 3e6, 1e-3);
  EXPECT_EQ(row.kernel[LIVE_FAULTS], 6);
  EXPECT_FALSE(row.Event(0).has_value());
  EXPECT_EQ(live.rows[live.trace.rows[1].order].tasks, 1);
  EXPECT_NEAR(live.span_seconds, 4.1e-3, 1e-12);
  EXPECT_NEAR(live.between_seconds, 2.1e-3, 1e-12);
  EXPECT_EQ(live.processes, 1);
}

TEST(LiveFoldTest, OneDnnWithoutTasksOrWithoutALogStillGivesRows) {
  LiveFold fold;
  LiveRecord line = {};
  line.kind = LIVE_LINE;
  fold.Add({1, 1}, line, {"onednn_verbose,info,oneDNN v2.6.3 (commit N/A)\n"});
  fold.Add({1, 1}, line, {LineOf("softmax", "0.25")});
  LiveRecord task = Task(1'000, 0, 3'000, 0);
  task.flags = 0;
  std::strcpy(task.name, "convolution");
  fold.Add({2, 2}, task, {""});
  const LiveTrace live = fold.Finish();
  ASSERT_EQ(live.trace.rows.size(), 2u);
  EXPECT_EQ(live.trace.library, "oneDNN v2.6.3 (commit N/A)");
  EXPECT_EQ(live.trace.rows[0].primitive, "softmax");
  EXPECT_EQ(live.rows[0].tasks, 0);
  EXPECT_EQ(live.lines_without_task, 1);
  EXPECT_EQ(live.trace.rows[1].primitive, "convolution");
  EXPECT_NEAR(live.trace.rows[1].seconds, 2e-6, 1e-12);
  EXPECT_EQ(live.tasks_without_line, 1);
  EXPECT_EQ(live.processes, 2);
}

// oneDNN 3.12 sends the line without its first fields and the time as ITT's metadata.
TEST(LiveFoldTest, ATaskWithoutALineHasTheNameThatItsMetadataSay) {
  LiveFold fold;
  fold.Add({1, 1}, Task(1'000, 2'000, 3'000, 0), {LineOf("reorder", "0.001")});
  LiveRecord task = Task(1'000, 0, 5'000, 0);
  task.flags = 0;
  fold.Add({1, 1}, task, {"cpu,reorder,jit:avx2,undef,src_f32::blocked:ab:f0,,,2x3"});
  fold.Add({1, 1}, task, {"cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,7x8"});
  fold.Add({1, 1}, task, {"cpu,matmul,of another task,undef,,,,2x3"});
  const LiveTrace live = fold.Finish();
  ASSERT_EQ(live.trace.rows.size(), 3u);
  EXPECT_EQ(live.trace.rows[0].count, 2);  // that of the line
  EXPECT_NEAR(live.trace.rows[0].seconds, 5e-6, 1e-12);
  EXPECT_EQ(live.trace.rows[1].problem, "7x8");
  EXPECT_EQ(live.trace.rows[1].implementation, "jit:uni");
  EXPECT_NEAR(live.trace.rows[1].seconds, 4e-6, 1e-12);
  EXPECT_EQ(live.trace.rows[2].primitive, "reorder");
  EXPECT_EQ(live.trace.rows[2].problem, "");
  EXPECT_EQ(live.tasks_without_line, 3);
  EXPECT_EQ(live.tasks_of_kind, 1);
}

TEST(LiveFoldTest, ACountOfTheHardwareIsScaledToTheTimeThatItWasEnabled) {
  LiveFold fold;
  LiveRecord task = Task(1'000, 2'000, 3'000, 0);
  task.flags |= LIVE_HARDWARE;
  task.counts[LIVE_ENABLED] = 1'000;
  task.counts[LIVE_RUNNING] = 250;
  task.counts[LIVE_EVENTS] = 100;
  fold.Add({1, 1}, task, {LineOf("reorder", "0.001")});
  const LiveTrace live = fold.Finish();
  EXPECT_EQ(live.rows.at(0).Event(0), 400);
}

TEST(LiveFoldTest, AStepHasItsOwnRowsAndTimes) {
  LiveFold fold;
  std::uint64_t now = 1'000'000;
  for (int step = 0; step < 4; ++step) {
    for (const std::string name : {"reorder", "eltwise", "softmax"}) {
      const std::uint64_t gap = name == "reorder" ? 50'000 : 10'000;
      now += gap;
      fold.Add({7, 7}, Task(now, now + 100'000, now + 100'000, gap), {LineOf(name, "0.1")});
      now += 100'000;
    }
  }
  const LiveTrace live = fold.Finish();
  EXPECT_EQ(live.step_length, 3u);
  ASSERT_EQ(live.steps.size(), 4u);
  EXPECT_NEAR(live.steps[1].primitive_seconds, 3e-4, 1e-9);
  EXPECT_NEAR(live.steps[1].seconds, 3.7e-4, 1e-9);  // with the pause before the next step
  EXPECT_NEAR(live.steps[3].seconds, 3.2e-4, 1e-9);  // the last one ends with its last task
  const LiveTrace second = OfStep(live, 1);
  ASSERT_EQ(second.trace.rows.size(), 3u);
  EXPECT_EQ(second.trace.rows[0].count, 1);
  EXPECT_NEAR(second.trace.rows[0].seconds, 1e-4, 1e-9);
  EXPECT_NEAR(second.between_seconds, 2e-5, 1e-9);
}

TEST(LiveFoldTest, EqualPrimitivesOfTwoModulesAreTwoRows) {
  LiveFold fold;
  const LiveRecord task = Task(1'000, 2'000, 3'000, 0);
  for (const char* module : {"layer1.conv", "layer2.conv", "", "layer1.conv"}) {
    fold.Add({7, 7}, task, {LineOf("reorder", "0.1"), module});
  }
  const LiveTrace live = fold.Finish();
  ASSERT_EQ(live.trace.rows.size(), 3u);
  EXPECT_EQ(live.trace.rows[0].module, "layer1.conv");
  EXPECT_EQ(live.trace.rows[0].count, 2);
  EXPECT_EQ(live.rows[1].tasks, 1);
  EXPECT_EQ(live.trace.rows[2].module, "");
}

// A oneDNN without ITT gives lines without tasks.
TEST(LiveFoldTest, AnOperatorHasThePrimitivesOfLinesWithoutATask) {
  LiveFold fold;
  LiveRecord line = {};
  line.kind = LIVE_LINE;
  fold.Add({7, 7}, line, {LineOf("reorder", "0.25"), "head", "aten::mm"});
  const LiveTrace live = fold.Finish();
  EXPECT_NEAR(live.operators.at("aten::mm").primitive_seconds, 0.25e-3, 1e-9);
}

// A primitive in an operator is also in the operator's time; a row has the operator's name, without
// what all nodes of the backward pass are called.
TEST(LiveFoldTest, AnOperatorHasItsTimeAndThatOfItsPrimitives) {
  LiveFold fold;
  const auto add = [&](std::uint64_t begin, std::uint64_t end, const char* name) {
    LiveRecord record = {};
    record.kind = LIVE_OPERATOR;
    record.begin = begin;
    record.end = end;
    fold.Add({7, 7}, record, {"", "head", name});
  };
  const std::string backward = "autograd::engine::evaluate_function: MmBackward0";
  const LiveRecord task = Task(2'000'000, 2'100'000, 2'100'000, 0);
  fold.Add({7, 7}, task, {LineOf("reorder", "0.1"), "head", "aten::mm"});
  add(1'000'000, 3'000'000, "aten::mm");
  fold.Add({7, 7}, task, {LineOf("reorder", "0.2"), "head", backward});
  fold.Add({7, 7}, task, {LineOf("reorder", "0.3"), "head", backward});
  add(5'000'000, 6'000'000, backward.c_str());
  add(7'000'000, 7'500'000, "aten::mm");
  fold.Add({7, 7}, task, {LineOf("reorder", "0.4")});
  LiveRecord note = {};
  note.kind = LIVE_NOTE;
  fold.Add({7, 7}, note, {"a note"});
  fold.Add({7, 7}, note, {"a note"});
  const LiveTrace live = fold.Finish();
  EXPECT_THAT(live.notes, ElementsAre("a note"));
  ASSERT_EQ(live.operators.size(), 2u);
  const LiveOperator& product = live.operators.at("aten::mm");
  EXPECT_EQ(product.runs, 2);
  EXPECT_NEAR(product.seconds, 2.5e-3, 1e-9);
  EXPECT_NEAR(product.primitive_seconds, 1e-4, 1e-9);
  const LiveOperator& gradient = live.operators.at("MmBackward0");
  EXPECT_EQ(gradient.runs, 1);
  EXPECT_NEAR(gradient.seconds, 1e-3, 1e-9);
  EXPECT_NEAR(gradient.primitive_seconds, 5e-4, 1e-9);
  ASSERT_EQ(live.trace.rows.size(), 3u);
  EXPECT_EQ(live.trace.rows[1].operator_name, "MmBackward0");
  EXPECT_EQ(live.trace.rows[1].count, 2);
  EXPECT_EQ(live.trace.rows[2].operator_name, "");
}

// ---- Top-Down of a row.

PerfSetting SettingOf(FakePmu& pmu, const std::string& cpu) {
  PerfSetting setting;
  setting.calls = pmu.Calls();
  setting.cpu.microarchitecture = cpu;
  setting.cpu.vendor = "Vendor";
  setting.sysfs = "/nonexistent";
  return setting;
}

TEST(LiveEventsTest, TheEventsOfLevel1AreOneGroupOrTheReasonIsSaid) {
  FakePmu pmu;
  const LiveEvents all = LiveEventsOf("", SettingOf(pmu, "skylake_x"));
  EXPECT_THAT(all.names,
              UnorderedElementsAre("CPU_CLK_UNHALTED.THREAD", "UOPS_ISSUED.ANY",
                                   "UOPS_RETIRED.RETIRE_SLOTS", "INT_MISC.RECOVERY_CYCLES",
                                   "IDQ_UOPS_NOT_DELIVERED.CORE", "instructions"));
  EXPECT_EQ(all.events.size(), 6u);
  EXPECT_EQ(all.table->cpu, "skylake_x");
  pmu.counters = 5;  // without the instructions
  EXPECT_EQ(LiveEventsOf("topdown-l1", SettingOf(pmu, "skylake_x")).names.size(), 5u);
  pmu.counters = 4;
  const LiveEvents few = LiveEventsOf("", SettingOf(pmu, "skylake_x"));
  EXPECT_EQ(few.table, nullptr);
  EXPECT_THAT(few.reason, HasSubstr("2 passes on 4 free counters"));
  EXPECT_THAT(few.names, ElementsAre("cycles", "instructions"));
  pmu.refuse_all = ENOENT;
  EXPECT_THAT(LiveEventsOf("", SettingOf(pmu, "skylake_x")).reason, HasSubstr("no PMU"));
  EXPECT_THAT(LiveEventsOf("", SettingOf(pmu, "i486")).reason, HasSubstr("no Top-Down table"));
  EXPECT_EQ(LiveEventsOf("page-faults", SettingOf(pmu, "skylake_x")).names.size(), 1u);
  EXPECT_EQ(pmu.open_events(), 0u);
}

// Skylake has four slots a cycle. The sums of five runs: 1,000 cycles, so 4,000 slots.
TEST(LiveEventsTest, TheNodesOfARowAreThoseOfTheSumsOfItsRuns) {
  FakePmu pmu;
  const LiveEvents events = LiveEventsOf("", SettingOf(pmu, "skylake_x"));
  const std::map<std::string, std::vector<std::uint64_t>> counts = {
      {"CPU_CLK_UNHALTED.THREAD", {100, 100, 100, 100, 600}},
      {"UOPS_ISSUED.ANY", {400, 1000, 500, 300, 200}},            // 2,400
      {"UOPS_RETIRED.RETIRE_SLOTS", {300, 900, 400, 300, 100}},   // 2,000
      {"INT_MISC.RECOVERY_CYCLES", {10, 0, 0, 50, 40}},           // 100
      {"IDQ_UOPS_NOT_DELIVERED.CORE", {0, 100, 100, 100, 100}}};  // 400
  const auto fold_of = [&](std::size_t runs, std::uint64_t running, std::uint16_t flags) {
    LiveFold fold;
    for (std::size_t run = 0; run < runs; ++run) {
      LiveRecord task = Task(1'000, 2'000, 3'000, 0);
      task.flags |= LIVE_HARDWARE | flags;
      task.counts[LIVE_ENABLED] = 1'000;
      task.counts[LIVE_RUNNING] = running;
      for (std::size_t e = 0; e < events.names.size(); ++e) {
        const auto found = counts.find(events.names[e]);
        if (found != counts.end()) task.counts[LIVE_EVENTS + e] = found->second[run];
      }
      fold.Add({1, 1}, task, {LineOf("reorder", "0.001")});
    }
    return fold.Finish();
  };
  const LiveTopdown topdown = TopdownOf(events, fold_of(5, 1'000, 0).rows.at(0));
  EXPECT_EQ(topdown.reason, "");
  ASSERT_EQ(topdown.nodes.size(), 4u);
  EXPECT_NEAR(*topdown.nodes.at("Retiring"), 0.5, 1e-12);         // 2,000
  EXPECT_NEAR(*topdown.nodes.at("Bad_Speculation"), 0.2, 1e-12);  // 2,400 - 2,000 + 4 * 100
  EXPECT_NEAR(*topdown.nodes.at("Frontend_Bound"), 0.1, 1e-12);   // 400
  EXPECT_NEAR(*topdown.nodes.at("Backend_Bound"), 0.2, 1e-12);    // the other 800
  const auto reason = [&](const LiveTrace& live) {
    return TopdownOf(events, live.rows.at(0)).reason;
  };
  EXPECT_THAT(reason(fold_of(4, 1'000, 0)), HasSubstr("fewer than 5 runs"));
  EXPECT_THAT(reason(fold_of(5, 900, 0)), HasSubstr("on the counters 90.0 % of the time"));
  EXPECT_THAT(reason(fold_of(5, 1'000, LIVE_OVERLAPPED)), HasSubstr("another thread"));
  LiveTrace not_counted;
  not_counted.rows.resize(1);
  EXPECT_THAT(reason(not_counted), HasSubstr("not counted in the program"));
  // The table and the JSON have them.
  const LiveProgram program = {{}, fold_of(5, 1'000, 0), 1.0};
  const LiveReport report = {.program = &program, .events = events};
  const MeasuredTrace measured = TranslateTrace(program.live.trace);
  const std::string text = LiveText(report, measured, Style{.width = 400});
  EXPECT_THAT(text, HasSubstr("Top-Down of skylake_x"));
  EXPECT_THAT(text, ContainsRegex("50\\.0 +20\\.0 +10\\.0 +20\\.0"));
  nlohmann::ordered_json json = TraceJson(measured);
  AddLiveJson(report, measured, json);
  EXPECT_NEAR(json["rows"][0]["live_topdown"]["Frontend_Bound"].get<double>(), 0.1, 1e-12);
  EXPECT_TRUE(json["rows"][0]["live_topdown_reason"].is_null());
}

// Appends a record as the library does.
void Append(LiveChunk& chunk, LiveRecord record, std::string_view text) {
  record.text_bytes = static_cast<std::uint32_t>(text.size());
  record.bytes = (sizeof record + record.text_bytes + 7) / 8 * 8;
  char* const at = reinterpret_cast<char*>(&chunk + 1) + chunk.used;
  std::memcpy(at, &record, sizeof record);
  std::memcpy(at + sizeof record, text.data(), text.size());
  chunk.used += record.bytes;
}

TEST(LiveMemoryTest, ChunksAreReadInTheOrderInWhichTheyWereTakenAndFreed) {
  LiveMemory memory;
  const auto own = static_cast<std::uint32_t>(getpid());
  LiveChunk& later = memory.chunk(0);
  LiveChunk& earlier = memory.chunk(1);
  later = {.state = LIVE_WRITING, .used = 0, .process = own, .thread = 2, .order = 2};
  earlier = {.state = LIVE_DONE, .used = 0, .process = own, .thread = 2, .order = 1};
  LiveRecord record = {};
  record.kind = LIVE_LINE;
  Append(earlier, record, "first");
  Append(earlier, record, "second");
  Append(later, record, "third");
  std::vector<std::string> texts;
  const auto take = [&](LiveWriter writer, const LiveRecord&, const LiveTexts& written) {
    EXPECT_EQ(writer.process, own);
    EXPECT_EQ(writer.thread, 2u);
    texts.emplace_back(written.text);
  };
  EXPECT_EQ(memory.Read(take), 3);
  EXPECT_THAT(texts, ElementsAre("first", "second", "third"));
  EXPECT_EQ(earlier.state, static_cast<std::uint32_t>(LIVE_FREE));
  EXPECT_EQ(later.state, static_cast<std::uint32_t>(LIVE_WRITING));
  Append(later, record, "fourth");
  EXPECT_EQ(memory.Read(take), 1);
  EXPECT_EQ(texts.back(), "fourth");
}

TEST(LiveMemoryTest, TheModuleAndTheOperatorFollowTheText) {
  LiveMemory memory;
  LiveChunk& chunk = memory.chunk(0);
  chunk = {.state = LIVE_DONE, .used = 0, .process = 0, .thread = 1, .order = 1};
  LiveRecord record = {};
  record.module_bytes = 4;
  record.operator_bytes = 3;
  Append(chunk, record, "lineheadadd");
  auto* const written = reinterpret_cast<LiveRecord*>(&chunk + 1);
  written->text_bytes = 4;
  Append(chunk, record, "bad");  // the operator would reach beyond the record
  std::vector<std::string> texts;
  memory.Read([&](LiveWriter, const LiveRecord&, const LiveTexts& all) {
    for (const std::string_view text : {all.text, all.module, all.operator_name}) {
      texts.emplace_back(text);
    }
  });
  EXPECT_THAT(texts, ElementsAre("line", "head", "add"));
}

TEST(LiveMemoryTest, ADamagedRecordEndsItsChunk) {
  LiveMemory memory;
  LiveChunk& chunk = memory.chunk(3);
  chunk = {.state = LIVE_DONE, .used = 0, .process = 0, .thread = 1, .order = 1};
  LiveRecord record = {};
  Append(chunk, record, "good");
  Append(chunk, record, "bad");
  auto* const bad =
      reinterpret_cast<LiveRecord*>(reinterpret_cast<char*>(&chunk + 1) + (sizeof(LiveRecord) + 8));
  bad->text_bytes = 1u << 30;
  std::vector<std::string> texts;
  EXPECT_EQ(memory.Read([&](LiveWriter, const LiveRecord&, const LiveTexts& all) {
    texts.emplace_back(all.text);
  }),
            1);
  EXPECT_THAT(texts, ElementsAre("good"));
  chunk.used = ~0u;  // and no length leads out of the chunk
  chunk.state = LIVE_WRITING;
  memory.Read([](LiveWriter, const LiveRecord&, const LiveTexts&) {});
}

TEST(LiveProgramTest, AStaticProgramIsRecognized) {
  EXPECT_THAT(WhyNotPreloaded("/proc/self/exe"), IsEmpty());
  EXPECT_THAT(WhyNotPreloaded("/bin/sh"), IsEmpty());
  EXPECT_THAT(WhyNotPreloaded("/dev/null"), IsEmpty());
}

// Opening a pipe without a writer would wait for ever.
TEST(LiveProgramTest, APipeIsNotRead) {
  const TestFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0700), 0);
  alarm(60);  // (ends this process)
  EXPECT_THAT(WhyNotPreloaded(pipe), IsEmpty());
  alarm(0);
}

}  // namespace
}  // namespace topdnn
