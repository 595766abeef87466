#include "tests/bench/result_samples.h"

#include <fmt/format.h>

#include <vector>

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPeak = 400e9;  // FLOP/s

Json Seconds(double median) {
  return {{"median", median}, {"min", 0.9 * median}, {"p90", 1.25 * median}, {"n", 40}};
}

Json Ceiling(const std::string& name, const std::string& operands, double value,
             const std::string& unit) {
  return {{"name", name},   {"isa", "avx512"},  {"type", "f32"}, {"operands", operands},
          {"threads", 2},   {"value", value},   {"unit", unit},  {"spread", 0.01},
          {"status", "OK"}, {"reason", nullptr}};
}

Json Machine() {
  Json machine = {{"cpu", {{"brand", "Sample CPU"}, {"microarchitecture", "sample"}}},
                  {"allowed_cores", 2},
                  {"operating_system", "Linux"},
                  {"doubts", {"L3 may be shared"}}};
  machine["ceilings"] = {Ceiling("fma/avx512/f32/l1", "l1", kPeak, "FLOP/s"),
                         Ceiling("read/l1", "l1", 900e9, "B/s"),
                         Ceiling("read/dram", "dram", 40e9, "B/s")};
  machine["ceilings"][2]["status"] = "DEGRADED";
  machine["ceilings"][2]["reason"] = "a neighbour";
  return machine;
}

struct Sample {
  const char* name;
  const char* op;
  const char* pass;
  double seconds;
  double flops;  // 0: none
  double bytes;
};

constexpr Sample kSamples[] = {
    {"conv1", "conv", "forward", 4e-3, 8e8, 4e6},
    {"pool1", "pool", "forward", 1e-3, 2e6, 8e6},
    {"dense1", "inner_product", "forward", 5e-4, 1e8, 2e6},
    {"loss", "softmax_cross_entropy", "loss", 2e-5, 1e4, 4e3},
    {"dense1", "inner_product", "backward_weights", 6e-4, 1e8, 2e6},
    {"dense1.weights", "reorder", "reorder", 2e-4, 0, 1e6},
    {"dense1", "inner_product", "backward_data", 7e-4, 1e8, 2e6},
    {"pool1", "pool", "backward_data", 1.5e-3, 2e6, 9e6},
    {"conv1.src", "reorder", "reorder", 3e-4, 0, 4e6},
    {"conv1", "conv", "backward_weights", 6e-3, 8e8, 4e6},
    {"conv1", "conv", "backward_data", 5e-3, 8e8, 4e6},
    {"conv1", "sgd", "update", 1e-5, 2e4, 2e5},
    {"dense1", "sgd", "update", 4e-5, 1e6, 3e6},
};

void AddTopdown(int index, Json& stage) {
  const double retiring = 0.2 + 0.05 * (index % 8);
  stage["topdown"] = {{"Retiring", retiring},
                      {"Frontend_Bound", 0.1},
                      {"Bad_Speculation", index == 1 ? Json(nullptr) : Json(0.05)},
                      {"Backend_Bound", 0.85 - retiring}};
  stage["topdown_bounds"] = {{"Retiring", {retiring, retiring + 0.1}}, {"Core_Bound", {0, 0.3}}};
  stage["topdown_bounds_basis"] = {{"Retiring", "counts"}, {"Core_Bound", "chains"}};
  stage["topdown_experiment"] = {{"Memory_Bound", {0.1, 0.3}}, {"Retiring", nullptr}};
  stage["topdown_experiment_basis"] = {{"Memory_Bound", "experiment: its own pages"}};
}

Json SampleStage(const Sample& sample, int index) {
  const bool timed_work = sample.flops > 0;
  Json stage = {{"name", sample.name},
                {"op", sample.op},
                {"pass", sample.pass},
                {"regime", "in-network"},
                {"implementation", "jit:avx512_core"},
                {"isa", "avx512"},
                {"status", "OK"},
                {"reason", nullptr},
                {"seconds", Seconds(sample.seconds)},
                {"flops", timed_work ? Json(sample.flops) : Json(nullptr)},
                {"bytes", sample.bytes},
                {"gflops", timed_work ? Json(sample.flops / sample.seconds / 1e9) : Json(nullptr)},
                {"peak_fraction", nullptr},
                {"ceiling", nullptr},
                {"events", {{"instructions", 1e6 * (index + 1)}, {"never", 0}}},
                {"roofline", nullptr}};
  if (std::string(sample.op) == "conv") {
    stage["ceiling"] = "fma/avx512/f32/l1";
    stage["ceiling_gflops"] = kPeak / 1e9;
    stage["ceiling_status"] = "OK";
    stage["peak_fraction"] = sample.flops / sample.seconds / kPeak;
  }
  if (timed_work) {
    stage["roofline"] = {{"flops", sample.flops},
                         {"flops_per_second", sample.flops / sample.seconds},
                         {"l1_intensity", sample.flops / sample.bytes / 4},
                         {"dram_intensity", sample.flops / sample.bytes},
                         {"attainable", {{"name", "read/dram"}, {"flops_per_second", 3e11}}}};
  }
  AddTopdown(index, stage);
  return stage;
}

void SetStatus(Json& stage, const std::string& status, const std::string& reason) {
  stage["status"] = status;
  stage["reason"] = reason;
}

Json Evolution(const Json& stages) {
  Json series = Json::array();
  for (std::size_t i = 0; i <= stages.size(); ++i) {
    const Json median = i < stages.size() && !stages[i]["seconds"].is_null()
                            ? stages[i]["seconds"]["median"]
                            : Json(0.02);
    Json seconds = Json::array();
    for (int k = 0; k < 40; ++k) seconds.push_back(median.get<double>() * (1 + 0.01 * (k % 7)));
    series.push_back({{"name", "x"},
                      {"warmup_seconds", {2 * median.get<double>(), median}},
                      {"seconds", seconds},
                      {"values_per_point", 1}});
  }
  return {{"phases",
           {{{"phase", "warm-up"}, {"group", "forward"}, {"iterations", 2}},
            {{"phase", "steady"}, {"group", "forward"}, {"iterations", 40}}}},
          {"stages", series}};
}

Json GroupSample(const std::string& name, int stages, double median) {
  return {{"name", name},
          {"stages", stages},
          {"seconds", Seconds(median)},
          {"sum_of_medians", nullptr},
          {"gflops", 80.5},
          {"peak_fraction", nullptr}};
}

// Replaces each text, in turn, except those that the page interprets.
void MakeHostile(const std::string& key, Json& json, int& next) {
  if (json.is_string() && key != "status" && key != "pass" && key != "unit" && key != "kind") {
    json = std::string(kHostileTexts[next % std::size(kHostileTexts)]) + std::to_string(next);
    ++next;
  } else if (json.is_object()) {
    for (auto& [name, value] : json.items()) MakeHostile(name, value, next);
  } else if (json.is_array()) {
    for (Json& value : json) MakeHostile(key, value, next);
  }
}

}  // namespace

const char* const kHostileTexts[5] = {"</script><script>document.title = 'broken'</script>",
                                      "<img src=x onerror=\"broken = 1\">", "\"'`&amp;&#60;]]>-->",
                                      "\u202Ertl\u2066 \u0001\u001f\u2028", "<!--<script>"};

Json SampleProfile() {
  Json profile = {{"schema", 1}, {"command", "topdnn profile sample --json 'it'\\''s.json'"}};
  profile["machine"] = Machine();
  profile.update({{"network", "sample"},
                  {"batch", 8},
                  {"dtype", "f32"},
                  {"backend", "onednn"},
                  {"threads", 2},
                  {"mode", "training"}});
  profile["step"] = {{"status", "OK"},
                     {"reason", nullptr},
                     {"seconds", Seconds(0.02)},
                     {"images_per_second", 400},
                     {"flops", 5e9},
                     {"gflops", 250},
                     {"peak_fraction", 0.62},
                     {"ceiling", "fma/avx512/f32/l1"}};
  profile["stages"] = Json::array();
  int index = 0;
  for (const Sample& sample : kSamples) profile["stages"].push_back(SampleStage(sample, index++));
  Json& stages = profile["stages"];
  stages[0]["hot"] = {
      {"loops",
       {{{"place", "JIT jit_conv+0x40"},
         {"instruction_share", 0.95},
         {"flop_share", 0.99},
         {"iterations", 1234567},
         {"instructions", 30},
         {"flops", 896},
         {"loads", 2},
         {"stores", 0},
         {"spills", 0},
         {"cycles", 14.5},
         {"bound_by", {{"what", "FMA"}, {"share", 0.97}}},
         {"listing", {"   0  vmovups zmm1, [rax]", "   6  vfmadd231ps zmm0, zmm1, zmm2"}}},
        {{"place", "not listed"}, {"listing", Json::array()}}}}};
  SetStatus(stages[1], "DEGRADED", "other processes ran");
  SetStatus(stages[7], "INVALID", "the clock stood still");
  SetStatus(stages[8], "FAILED", "differs from the reference");
  stages[8]["roofline"] = stages[7]["roofline"];
  SetStatus(stages[12], "SKIPPED", "not supported");
  stages[12]["seconds"] = nullptr;
  profile["groups"] = {GroupSample("forward", 3, 5.5e-3), GroupSample("backward", 5, 13.8e-3),
                       GroupSample("update", 2, 5e-5), GroupSample("reorder", 2, 2e-4),
                       GroupSample("loss", 1, 2e-5)};
  profile["remainder_seconds"] = 4e-4;
  profile["partial"] = false;
  profile["notes"] = {"an empty stage takes 20 ns"};
  Json live = Json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) live.push_back(1000000 * (1 + i % 7));
  profile["memory"] = {
      {"transient_bytes", 7000064}, {"persistent_bytes", 2000000}, {"live_bytes", live}};
  profile["evolution"] = Evolution(stages);
  profile["fed_step"] = {{"source", "sample images"}, {"prefetch", 2}};
  for (const auto& [part, mean] : {std::pair("step", 0.021), std::pair("compute", 0.019),
                                   std::pair("input_wait", 0.0015), std::pair("other", 0.0005)}) {
    profile["fed_step"][part] = {{"mean", mean}, {"ci95", nullptr}, {"seconds", Seconds(mean)}};
  }
  return profile;
}

Json LargeProfile(int stages) {
  Json profile = SampleProfile();
  const Json few = profile["stages"];
  profile["stages"] = Json::array();
  profile["memory"]["live_bytes"] = Json::array();
  for (int i = 0; i < stages; ++i) {
    Json stage = few[i % few.size()];
    stage["name"] = fmt::format("layer{}.block{}.shortcut.{}", 1 + i / 100, i,
                                stage["name"].get<std::string>());
    profile["stages"].push_back(stage);
    profile["memory"]["live_bytes"].push_back(1000 * i);
  }
  profile["evolution"] = Evolution(profile["stages"]);
  return profile;
}

Json HostileProfile() {
  Json profile = SampleProfile();
  int next = 0;
  MakeHostile("", profile, next);
  return profile;
}

Json SampleSweep() {
  Json sweep = {{"schema", 1}, {"command", "topdnn sweep --out sweep"}};
  sweep["cases"] = Json::array();
  for (int i = 0; i < 8; ++i) {
    const double seconds = 0.01 * (i + 1);
    sweep["cases"].push_back({{"id", fmt::format("net{}-train-b8-f32-onednn-t2", i)},
                              {"network", fmt::format("net{}", i)},
                              {"mode", "train"},
                              {"batch", 8},
                              {"dtype", "f32"},
                              {"backend", "onednn"},
                              {"threads", 2},
                              {"status", "OK"},
                              {"reason", nullptr},
                              {"step", {{"seconds", Seconds(seconds)}}},
                              {"compute", 0.7 * seconds},
                              {"input_wait", 0.2 * seconds},
                              {"images_per_second", 8 / seconds}});
  }
  for (const auto& [index, status] : {std::pair(3, "OUT_OF_MEMORY"), std::pair(6, "TIMEOUT")}) {
    Json& one = sweep["cases"][static_cast<std::size_t>(index)];
    SetStatus(one, status, "the limit of the case");
    for (const char* key : {"step", "compute", "input_wait", "images_per_second"})
      one[key] = nullptr;
  }
  // As the sweep writes them: the means sum to the mean step; the medians do not.
  sweep["cases"][1]["step"]["mean"] = 0.024;
  sweep["cases"][1]["step"]["ci95"] = {0.022, 0.026};
  sweep["cases"][1]["means"] = {
      {"step", 0.024}, {"compute", 0.015}, {"input_wait", 0.006}, {"other", 0.003}};
  sweep["left_out"] = 2;
  return sweep;
}

Json SampleComparison() {
  Json comparison = {{"schema", 1}, {"command", "topdnn compare a.json b.json"}};
  comparison["rows"] = Json::array();
  const std::vector<double> ratios = {1.0, 0.8, 1.25, 1.02, 0.99};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const bool significant = i == 1 || i == 2;
    comparison["rows"].push_back({{"name", fmt::format("conv{}", i)},
                                  {"pass", "forward"},
                                  {"a", 0.01},
                                  {"b", 0.01 * ratios[i]},
                                  {"ratio", ratios[i]},
                                  {"ci95", {0.95 * ratios[i], 1.05 * ratios[i]}},
                                  {"p", significant ? 0.001 : 0.4},
                                  {"effect", 0.5},
                                  {"significant", significant}});
  }
  comparison["step"] = comparison["rows"][0];
  comparison["differences"] = {"machine: another clock"};
  comparison["verdict"] = "same";
  return comparison;
}

// n2 and n3 take 2 and 3 times as long as n1. n2 is as far from its ceilings as n1. n3 is nearer.
Json SampleMachines() {
  Json machines = {{"schema", 1}, {"fleet", "x"}, {"cases", 2}, {"finished", 1}};
  machines["machines"] = {{{"name", "n1"}}, {{"name", "n2"}}, {{"name", "n3"}}};
  machines["comparison"] = {{"chosen", "n1"}, {"machines", Json::array()}};
  for (const double ratio : {2.0, 3.0}) {
    const bool second = ratio > 2;
    Json machine = {{"name", second ? "n3-0123abcd" : "n2-4567cdef"},
                    {"verdict", "slower"},
                    {"rows", Json::array()}};
    for (const char* name : {"conv1", "conv1", "pool1"}) {
      machine["rows"].push_back({{"name", name},
                                 {"pass", "forward"},
                                 {"a", 0.01},
                                 {"b", 0.01 * ratio},
                                 {"ratio", ratio},
                                 {"ci95", {0.95 * ratio, 1.05 * ratio}},
                                 {"significant", true}});
      if (machine["rows"].size() == 3) continue;  // a pooling has no ceiling
      machine["rows"].back().update({{"a_peak_fraction", 0.6},
                                     {"b_peak_fraction", second ? 0.8 : 0.6},
                                     {"ratio_normalised", second ? 0.75 : 1.0}});
    }
    machine["step"] = machine["rows"][0];
    machine["step"]["name"] = "step";
    machine["step"]["pass"] = "step";
    machine["differences"] = {"machine: CPU x, not y"};
    machines["comparison"]["machines"].push_back(std::move(machine));
  }
  return machines;
}

Json SampleTrace() {
  Json trace = {{"schema", 1}, {"command", "topdnn trace log"}, {"dialect", "onednn_verbose"}};
  trace["primitives"] = 50;
  trace["framework_seconds"] = 0.05;
  trace["covered"] = 0.8;
  trace["median_ratio"] = {{"cold", 0.99}, {"hot", 0.8}};
  trace["reorder_share"] = 0.1;
  trace["rows"] = Json::array();
  const std::vector<double> ratios = {1.0, 0.8, 1.25, 1.02, 0.99};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const bool measured = i + 1 < ratios.size();
    trace["rows"].push_back({{"primitive", "convolution"},
                             {"pass", "forward"},
                             {"problem", fmt::format("mb1_ic{}oc8", i + 1)},
                             {"count", 10},
                             {"share", 0.2},
                             {"framework_seconds", 0.01},
                             {"measured_seconds", measured ? Json(0.01 * ratios[i]) : Json()},
                             {"reason", measured ? Json() : Json("no kernel")},
                             {"status", measured ? "OK" : "SKIPPED"}});
    Json& row = trace["rows"].back();
    if (i == 0) {
      row["topdown"] = {{"Frontend_Bound", 0.1}, {"Backend_Bound", 0.6}, {"Retiring", 0.3}};
    }
    if (i == 1) {
      row["topdown_bounds"] = {{"Retiring", {0.2, 0.6}}, {"Core_Bound", {0.35, 0.7}}};
    }
    if (i == 2) row["topdown_bounds_reason"] = "the record is DEGRADED";
  }
  return trace;
}

Json SampleLiveRun() {
  Json live = SampleTrace();
  live["command"] = "topdnn trace --live -- python3 train.py";
  live["live"] = {{"program_seconds", 2.0},
                  {"span_seconds", 1.0},
                  {"between_seconds", 0.25},
                  {"processes", 1},
                  {"steps", Json::object()}};
  Json& steps = live["live"]["steps"];
  steps = {{"primitives", 5},
           {"first_seconds", 0.9},
           {"later", {{"median", 0.3}, {"min", 0.2}, {"p90", 0.6}, {"n", 5}}}};
  for (const double seconds : {0.9, 0.2, 0.6, 0.3, 0.2, 0.4}) {
    steps["series"].push_back({{"seconds", seconds}, {"primitive_seconds", seconds / 2}});
  }
  for (std::size_t i = 0; i < live["rows"].size(); ++i) {
    Json& row = live["rows"][i];
    for (const char* key : {"topdown", "topdown_bounds", "topdown_bounds_reason"}) row.erase(key);
    const double share = 0.1 / (1 + static_cast<double>(i));
    row.update({{"measured_seconds", nullptr},
                {"reason", nullptr},
                {"status", "SKIPPED"},
                {"module", i == 4 ? Json() : Json(fmt::format("layer{}.conv", i + 1))},
                {"framework_seconds", 2 * share},
                {"live_seconds", 2 * share},
                {"live_share", share},
                {"overlapped", 0},
                // 1.5 CPUs, and 3 faults a run
                {"counters", {{"task-clock", 3e9 * share}, {"page-faults", 30}}}});
  }
  live["rows"][0]["live_topdown"] = {
      {"Retiring", 0.3}, {"Bad_Speculation", 0.0}, {"Frontend_Bound", 0.1}, {"Backend_Bound", 0.6}};
  live["rows"][1]["live_topdown_reason"] = "fewer than 5 runs were counted";
  return live;
}

Json SampleCorun() {
  const auto row = [](double slowdown, const char* verdict) {
    return Json{{"solo", Seconds(0.01)},
                {"shared", Seconds(0.01 * slowdown)},
                {"slowdown", slowdown},
                {"ci95", {0.95 * slowdown, 1.05 * slowdown}},
                {"verdict", verdict}};
  };
  const auto stage = [](Json times, const char* name) {
    times["name"] = name;
    times["pass"] = "forward";
    return times;
  };
  const auto member = [](Json times, const char* workload, const Json& stages) {
    times["workload"] = workload;
    times["cpus"] = {0};
    SetStatus(times, "OK", "");
    times["stages"] = stages;
    return times;
  };
  Json corun = {{"schema", 1}, {"command", "topdnn corun --workload 'cnn infer'"}};
  corun["rounds"] = 8;
  corun["window_seconds"] = 0.5;
  corun["group"] = {
      member(
          row(1.0, "same"), "cnn infer",
          Json::array({stage(row(0.8, "faster"), "conv1"), stage(row(1.25, "slower"), "pool1")})),
      member(row(1.02, "same"), "lenet5 infer", Json::array({stage(row(0.99, "same"), "c1")}))};
  corun["stp"] = 1.9;
  corun["stp_ci95"] = {1.8, 1.95};
  corun["antt"] = 1.05;
  corun["fairness"] = 0.9;
  return corun;
}

}  // namespace topdnn
