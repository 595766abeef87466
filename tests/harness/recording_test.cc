#include "harness/results/recording.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/text/errors.h"

namespace topdnn {
namespace {

Recording ExampleRecording() {
  Recording recording;
  recording.command = "topdnn profile x";
  recording.machine = {{"cpu", {{"microarchitecture", "zen4"}}}};
  recording.subject = {{"network", "x"}, {"batch", 3}};
  recording.smt = true;
  recording.overhead = MarkOverhead{.ratio = -0.01, .interval = Interval{-0.02, 0.5}, .pairs = 7};
  recording.checks = {{true, ""}, {false, "differs"}};
  recording.source_notes = {"perf: none"};
  SequenceSamples& samples = recording.in_network;
  samples.clock = "tsc";
  samples.warmup = {.steady = true, .iterations = 2, .seconds = 0.25};
  samples.disturbance.seconds = 1.5;
  samples.disturbance.iterations = 2;
  samples.disturbance.switched_excess = -0.1;
  samples.disturbance.machine_time = MachineTime{.stolen = 3, .wanted = 300};
  samples.disturbance.scheduler_time = SchedulerTime{.running = 5000, .waiting = 40};
  samples.disturbance.throttled_seconds = 0.25;
  samples.events = {"cycles", "slots"};
  samples.event_passes = {0, 1};
  samples.empty_counts = {5, 0};
  samples.run_events = {"exact/flops"};
  const auto region = [](const std::string& name, double scale) {
    StageSamples stage;
    stage.name = name;
    stage.seconds = {1e-3 * scale, 1.1e-3 * scale};
    stage.warmup_seconds = {2e-3 * scale, 1e-3 * scale};
    stage.empty_seconds = 2e-8;
    stage.counts = {{.value = 123456789012345.0},
                    {.value = std::nullopt, .running_fraction = 0},
                    {.value = 0.0},
                    {.value = 7.0, .running_fraction = 0.5}};
    stage.run_counts = {{.value = std::nullopt, .running_fraction = 0, .reason = "a signal"}};
    stage.threads = {{0, {{.value = 1.0}, {.value = 2.0}}}};
    return stage;
  };
  samples.stages = {region("conv1 forward", 1), region("pool1 forward", 2)};
  samples.step = region("step", 3);
  recording.isolated = {samples};
  return recording;
}

TEST(RecordingTest, ReadsBackARecording) {
  const Recording read = ParseRecording(FormatRecording(ExampleRecording()), "r");
  EXPECT_EQ(FormatRecording(read), FormatRecording(ExampleRecording()));
  const SequenceSamples& samples = read.in_network;
  ASSERT_EQ(samples.stages.size(), 2u);
  EXPECT_EQ(samples.stages[1].name, "pool1 forward");
  EXPECT_EQ(samples.stages[1].seconds, ExampleRecording().in_network.stages[1].seconds);
  EXPECT_EQ(samples.stages[0].counts[0].value, 123456789012345.0);
  EXPECT_FALSE(samples.stages[0].counts[1].value);
  EXPECT_EQ(samples.stages[0].counts[3].running_fraction, 0.5);
  EXPECT_EQ(samples.step.run_counts[0].reason, "a signal");
  EXPECT_EQ(samples.disturbance.machine_time->wanted, 300u);
  EXPECT_EQ(samples.disturbance.scheduler_time->running, 5000u);
  EXPECT_EQ(samples.disturbance.scheduler_time->waiting, 40u);
  EXPECT_DOUBLE_EQ(*samples.disturbance.throttled_seconds, 0.25);
  EXPECT_EQ(read.overhead->pairs, 7);
  EXPECT_EQ(read.overhead->interval->low, -0.02);
  EXPECT_EQ(read.overhead->interval->high, 0.5);
  EXPECT_FALSE(read.checks[1].agrees);
}

// A replay must select the same samples. The facts are written only if there are any.
TEST(RecordingTest, KeepsTheFactsAboutEachSample) {
  Recording recording = ExampleRecording();
  for (const char* key :
       {"\"waited\"", "\"switches\"", "\"marks\"", "\"judged\"", "cut_short", "best_speeds"}) {
    EXPECT_EQ(FormatRecording(recording).find(key), std::string::npos) << key;
  }
  SequenceSamples& samples = recording.in_network;
  samples.disturbance.judged = true;
  samples.disturbance.memory_ratio = 0.75;
  samples.cut_short = "timing ended early";
  samples.switches = {0, 2};
  samples.best_speeds = {200e9, 20e9};
  samples.marks = {{.iteration = 0, .speed = {180e9, 15e9}},
                   {.iteration = 2, .speed = {190e9, std::nullopt}, .stolen = 0.01}};
  for (StageSamples& stage : samples.stages) stage.waited = {0, 0};
  samples.stages[1].waited = {0, 0.5};
  samples.step.waited = {0, 0.1};
  const Recording read = ParseRecording(FormatRecording(recording), "r");
  EXPECT_EQ(FormatRecording(read), FormatRecording(recording));
  EXPECT_EQ(read.in_network.stages[1].selection.undisturbed, 1u);
  EXPECT_EQ(read.in_network.stages[0].selection.undisturbed, 2u);
  EXPECT_EQ(read.in_network.step.selection.undisturbed, 1u);
  EXPECT_EQ(read.in_network.disturbance.arithmetic_ratio, 0.9);
  EXPECT_EQ(read.in_network.disturbance.memory_ratio, 0.75);
  samples.step.waited = {0, 0.1, 0};
  EXPECT_THROW(ParseRecording(FormatRecording(recording), "r"), InputError);
  samples.step.waited = {0, 0.1};
  samples.marks[0].iteration = 3;
  EXPECT_THROW(ParseRecording(FormatRecording(recording), "r"), InputError);
}

TEST(RecordingTest, KeepsThePaceOfTheCores) {
  Recording recording = ExampleRecording();
  SequenceSamples& samples = recording.in_network;
  samples.disturbance.judged = true;
  EXPECT_FALSE(ParseRecording(FormatRecording(recording), "r").in_network.disturbance.by_pace);
  for (StageSamples& stage : samples.stages) stage.pace = {40e9, 20e9};
  samples.step.pace = {40e9, 20e9};
  const Recording read = ParseRecording(FormatRecording(recording), "r");
  EXPECT_EQ(read.in_network.stages[1].pace, (std::vector<double>{40e9, 20e9}));
  EXPECT_EQ(read.in_network.step.pace, (std::vector<double>{40e9, 20e9}));
  EXPECT_TRUE(read.in_network.disturbance.by_pace);
  samples.stages[1].pace = {40e9};
  EXPECT_THROW(ParseRecording(FormatRecording(recording), "r"), InputError);
}

// The texts are printed on a terminal, which would interpret these characters.
TEST(RecordingTest, TextsAndNamesLoseTheirControlCharacters) {
  Recording recording = ExampleRecording();
  recording.subject["a\x1b[2Jname"] = "a\x1b[2Jtext";
  const std::string subject = ParseRecording(FormatRecording(recording), "r").subject.dump();
  EXPECT_NE(subject.find("name"), std::string::npos) << subject;
  EXPECT_EQ(subject.find("u001b"), std::string::npos) << subject;
}

// Written only if there are any, so that recordings of earlier versions can be read.
TEST(RecordingTest, KeepsTheNumberOfOmittedIterations) {
  Recording recording = ExampleRecording();
  EXPECT_EQ(FormatRecording(recording).find("left_out"), std::string::npos);
  recording.in_network.step.left_out = 4;
  const Recording read = ParseRecording(FormatRecording(recording), "r");
  EXPECT_EQ(read.in_network.step.left_out, 4);
  EXPECT_EQ(read.in_network.stages[0].left_out, 0);
}

TEST(RecordingTest, AnOverheadOfFewPairsHasNoInterval) {
  Recording recording = ExampleRecording();
  recording.overhead->interval.reset();
  const std::string text = FormatRecording(recording);
  EXPECT_NE(text.find("\"low\":null"), std::string::npos);
  const Recording read = ParseRecording(text, "r");
  ASSERT_TRUE(read.overhead);
  EXPECT_FALSE(read.overhead->interval);
}

TEST(RecordingTest, RefusesEveryTruncationInOneLine) {
  const std::string good = FormatRecording(ExampleRecording());
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    try {
      ParseRecording(good.substr(0, size), "r.json");
      ADD_FAILURE() << size;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("r.json"), 0u);
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
}

// Removes every part, and replaces every part by one of another type.
void Spoil(nlohmann::ordered_json& root, nlohmann::ordered_json& part, int& spoilt) {
  if (part.is_object()) {
    const nlohmann::ordered_json whole = part;
    const std::vector<nlohmann::ordered_json> wrong_values = {"x", -7, {{"a", 1}}};
    for (const auto& [key, value] : whole.items()) {
      part.erase(key);
      if (key == "scheduler_time" || key == "throttled_seconds") {
        EXPECT_NO_THROW(ParseRecording(root.dump(), "r")) << "earlier recordings lack " << key;
      } else {
        EXPECT_THROW(ParseRecording(root.dump(), "r"), InputError) << "without " << key;
      }
      for (const nlohmann::ordered_json& wrong : wrong_values) {
        if (wrong.type() == value.type() && !value.is_number()) continue;
        if (wrong.is_number() && (key == "ratio" || key == "low" || key == "high")) continue;
        part[key] = wrong;
        EXPECT_THROW(ParseRecording(root.dump(), "r"), InputError) << key << " " << wrong;
        ++spoilt;
      }
      part[key] = value;
      if (key != "machine" && key != "subject") Spoil(root, part[key], spoilt);
    }
  } else if (part.is_array()) {
    for (auto& item : part) Spoil(root, item, spoilt);
  }
}

TEST(RecordingTest, RefusesEveryMissingOrMistypedPart) {
  auto root = nlohmann::ordered_json::parse(FormatRecording(ExampleRecording()));
  int spoilt = 0;
  Spoil(root, root, spoilt);
  EXPECT_GT(spoilt, 200);
}

TEST(RecordingTest, RefusesPartsThatDoNotFitEachOther) {
  const auto root = nlohmann::ordered_json::parse(FormatRecording(ExampleRecording()));
  for (const char* patch :
       {R"([{"op": "replace", "path": "/topdnn_recording", "value": 2}])",
        R"([{"op": "replace", "path": "/in_network/events/1", "value": "cycles"}])",
        R"([{"op": "remove", "path": "/in_network/events/1"}])",
        R"([{"op": "remove", "path": "/in_network/event_passes/1"}])",
        R"([{"op": "replace", "path": "/in_network/regions/0/counts/0/0", "value": -1}])",
        R"([{"op": "replace", "path": "/in_network/regions/0/counts/0/0", "value": "1"}])",
        R"([{"op": "remove", "path": "/in_network/regions/1/counts/0/0"}])",
        R"([{"op": "remove", "path": "/in_network/regions/1/seconds/0"}])",
        R"([{"op": "replace", "path": "/in_network/regions/1/running/1/0", "value": 1.5}])",
        R"([{"op": "replace", "path": "/in_network/regions/1/running/0", "value": 0.5}])",
        R"([{"op": "replace", "path": "/in_network/regions/0/empty_seconds", "value": 1e308}])",
        R"([{"op": "replace", "path": "/in_network/regions/0/seconds/0", "value": 2e9}])",
        R"([{"op": "replace", "path": "/in_network/regions/0/counts/0/0", "value": 1e20}])",
        R"([{"op": "replace", "path": "/in_network/regions", "value": []}])",
        R"([{"op": "replace", "path": "/in_network/regions/1", "value": 3}])"}) {
    const auto wrong = root.patch(nlohmann::ordered_json::parse(patch));
    EXPECT_THROW(ParseRecording(wrong.dump(), "r"), InputError) << patch;
  }
  EXPECT_THROW(ParseRecording(std::string(100'000, '['), "r"), InputError);
  EXPECT_THROW(ReadRecording("/no/such/file"), InputError);
}

}  // namespace
}  // namespace topdnn
