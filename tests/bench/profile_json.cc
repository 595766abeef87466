#include "tests/bench/profile_json.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace topdnn {

namespace {

nlohmann::json SecondsOf(std::vector<double> samples) {
  nlohmann::json json = {{"samples", samples}, {"n", samples.size()}};
  std::sort(samples.begin(), samples.end());
  json["median"] = samples[samples.size() / 2];
  json["min"] = samples.front();
  json["p90"] = samples[samples.size() * 9 / 10];
  return json;
}

}  // namespace

nlohmann::json ProfileJson(const KnownProfile& known) {
  constexpr int kIterations = 100;
  std::mt19937 random(known.seed);
  std::normal_distribution<double> noise(0, 0.01);
  nlohmann::json profile = {{"schema", 1},
                            {"command", "topdnn profile cnn --train --batch 8"},
                            {"machine",
                             {{"cpu", {{"brand", "by hand"}}},
                              {"operating_system", "Linux 1"},
                              {"libraries", {{"onednn", {{"version", "2.6.3"}}}}},
                              {"ceilings",
                               {{{"name", "fma/avx2/f32/l1"},
                                 {"threads", 2},
                                 {"value", 1e11},
                                 {"unit", "FLOP/s"},
                                 {"spread", 0.01},
                                 {"status", "OK"}}}}}},
                            {"network", "cnn"},
                            {"batch", 8},
                            {"dtype", "f32"},
                            {"backend", "onednn"},
                            {"threads", 2},
                            {"mode", "training"},
                            {"stages", nlohmann::json::array()}};
  std::vector<double> step(kIterations, 0.0);
  for (int i = 0; i < known.stages; ++i) {
    const std::string name = "conv" + std::to_string(i + 1);
    double seconds = 1e-4 * std::pow(10.0, static_cast<double>(i) / known.stages) * known.all;
    if (name == known.slow_stage) seconds *= known.slowdown;
    std::vector<double> samples;
    for (int k = 0; k < kIterations; ++k) {
      samples.push_back(seconds * std::exp(noise(random)));
      step[static_cast<std::size_t>(k)] += samples.back();
    }
    profile["stages"].push_back({{"name", name},
                                 {"op", "conv"},
                                 {"pass", "forward"},
                                 {"status", known.status},
                                 {"reason", "by hand"},
                                 {"flops", 1e9},
                                 {"bytes", 1e6},
                                 {"seconds", SecondsOf(samples)}});
    if (known.status == "OK") profile["stages"].back()["reason"] = nullptr;
  }
  profile["step"] = {{"status", known.status}, {"reason", nullptr}, {"seconds", SecondsOf(step)}};
  if (known.status != "OK") profile["step"]["reason"] = "by hand";
  return profile;
}

}  // namespace topdnn
