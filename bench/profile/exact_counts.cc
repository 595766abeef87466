#include "bench/profile/exact_counts.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <nlohmann/json.hpp>

#include "harness/hot/kernel_counts.h"
#include "harness/text/grouped_digits.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

// The executed classes of a count by width; those that were not executed are left out.
void AddWidths(const std::string& name, const std::uint64_t (&counts)[kFpWidths], Json& json) {
  constexpr const char* kWidths[kFpWidths] = {"scalar", "128", "256", "512"};
  for (int w = 0; w < kFpWidths; ++w) {
    if (counts[w] > 0) json[name + "_" + kWidths[w]] = counts[w];
  }
}

Json VectorsJson(const ExactCounts& counts) {
  Json json = Json::object();
  AddWidths("f32", counts.fp[kF32], json);
  AddWidths("f64", counts.fp[kF64], json);
  AddWidths("f16", counts.fp[kF16], json);
  AddWidths("bf16_dot", counts.bf16_dot, json);
  AddWidths("vnni", counts.vnni, json);
  if (counts.amx_bf16 > 0) json["amx_bf16"] = counts.amx_bf16;
  if (counts.amx_int8 > 0) json["amx_int8"] = counts.amx_int8;
  if (counts.x87 > 0) json["x87"] = counts.x87;
  return json;
}

Json CountsJson(const ExactCounts& counts) {
  const std::uint64_t branches =
      counts.conditional_branches + counts.unconditional_branches + counts.indirect_branches;
  return {{"instructions", counts.instructions},
          {"flops", counts.flops()},
          {"integer_dot_ops", counts.vnni_ops + counts.amx_int8_ops},
          {"loads", counts.loads},
          {"stores", counts.stores},
          {"load_bytes", counts.load_bytes},
          {"store_bytes", counts.store_bytes},
          {"branches", branches},
          {"branches_taken", counts.branches_taken()},
          {"fp_instructions", VectorsJson(counts)}};
}

Json StageJson(const Stage& stage, const RegionBlocks& region, CodePlaces& places, Json& code) {
  Json json = {{"name", stage.name},
               {"pass", std::string(NameOf(stage.pass))},
               {"implementation", std::string(stage.kernel->implementation())},
               {"counts", nullptr}};
  const KernelCounts own =
      region.reason.empty() ? KernelCountsOf(region.blocks, places) : KernelCounts();
  const std::string& reason = region.reason.empty() ? own.reason : region.reason;
  if (!reason.empty()) {
    json["reason"] = reason;
    return json;
  }
  json["counts"] = CountsJson(own.counts);
  json["left_out"] = Json::array();
  for (const auto& [name, instructions] : own.left_out) json["left_out"].push_back(name);
  json["loops"] = Json::array();
  for (const CountedLoop& loop : own.loops) {
    json["loops"].push_back({{"code", loop.code},
                             {"iterations", loop.iterations},
                             {"entries", loop.entries},
                             {"instructions", loop.instructions}});
    code[loop.code] = {{"place", loop.place}, {"listing", loop.listing}};
  }
  return json;
}

// `array` with one element a line.
std::string Lines(const Json& array, const std::string& indent) {
  std::string text = "[";
  for (const Json& element : array) {
    text += fmt::format("{}\n{}{}", text.size() == 1 ? "" : ",", indent, element.dump());
  }
  return text + "]";
}

}  // namespace

Json ExactCountsJson(const Plan& plan, const std::vector<RegionBlocks>& regions,
                     const std::string& code_names, const Json& machine, const Json& subject) {
  Json json = {{"format", kFormat}};
  for (const char* key :
       {"network", "mode", "batch", "dtype", "backend", "threads", "data", "seed"}) {
    json["subject"][key] = subject.at(key);
  }
  if (subject.contains("plan")) json["subject"]["plan"] = subject.at("plan");
  for (const char* key : {"brand", "vendor", "family", "model"}) {
    json["cpu"][key] = machine.at("cpu").at(key);
  }
  json["cpu"]["isa"] = machine.at("isa");
  for (const Json& cache : machine.at("caches")) {
    if (cache.at("type") == "instruction") continue;
    json["cpu"][fmt::format("l{}_bytes", cache.at("level").get<int>())] = cache.at("size");
  }
  json["libraries"] = machine.at("libraries");
  json["libraries"]["libc"] = gnu_get_libc_version();
  json["stages"] = Json::array();
  Json code = Json::object();
  CodePlaces places(ReadPerfMap(code_names));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    json["stages"].push_back(StageJson(plan.stages()[i], regions[i], places, code));
  }
  // (sorted, so that a change of one loop leaves the others where they are)
  const nlohmann::json sorted = code;
  for (const auto& [name, loop] : sorted.items()) json["code"][name] = code[name];
  return json;
}

std::string ExactSummary(const Json& counts) {
  std::uint64_t instructions = 0, flops = 0, bytes = 0;
  std::size_t counted = 0;
  std::string missing;
  for (const Json& stage : counts.at("stages")) {
    const Json& own = stage.at("counts");
    if (own.is_null()) {
      missing +=
          fmt::format("not counted: {} {}: {}\n", stage.at("name").get<std::string>(),
                      stage.at("pass").get<std::string>(), stage.at("reason").get<std::string>());
      continue;
    }
    ++counted;
    instructions += own.at("instructions").get<std::uint64_t>();
    flops += own.at("flops").get<std::uint64_t>();
    bytes += own.at("load_bytes").get<std::uint64_t>() + own.at("store_bytes").get<std::uint64_t>();
  }
  return fmt::format(
      "counted exactly: {} stages, {} instructions, {} FLOPs, {} bytes loaded and "
      "stored; nothing was timed\n{}",
      counted, GroupedDigits(instructions), GroupedDigits(flops), GroupedDigits(bytes), missing);
}

std::string ExactBaselineText(const Json& counts) {
  std::string text = fmt::format("{{\"schema\": 1, \"{}\": {{\n", kExactCounts);
  for (const auto& [key, value] : counts.items()) {
    if (key == "stages" || key == "code") continue;
    text += fmt::format(" \"{}\": {},\n", key, value.dump());
  }
  text += " \"stages\": [";
  bool first = true;
  for (Json stage : counts.at("stages")) {
    const Json loops = stage.value("loops", Json::array());
    stage.erase("loops");
    std::string line = stage.dump();
    line.pop_back();
    text +=
        fmt::format("{}\n  {},\n   \"loops\": {}}}", first ? "" : ",", line, Lines(loops, "    "));
    first = false;
  }
  text += "],\n \"code\": {";
  first = true;
  const Json code = counts.value("code", Json::object());
  for (const auto& [name, loop] : code.items()) {
    text += fmt::format("{}\n  \"{}\": {{\"place\": {}, \"listing\": {}}}", first ? "" : ",", name,
                        loop.at("place").dump(), Lines(loop.at("listing"), "    "));
    first = false;
  }
  return text + "}}}\n";
}

}  // namespace topdnn
