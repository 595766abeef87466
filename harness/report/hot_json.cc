#include "harness/report/hot_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/report/json.h"

namespace topdnn {

namespace {

using HotJson = nlohmann::ordered_json;

HotJson BindingJson(const std::optional<HotBinding>& binding) {
  if (!binding) return nullptr;
  return {{"what", binding->what}, {"share", JsonNumber(binding->share)}};
}

HotJson UnitsJson(const std::vector<std::pair<std::string, double>>& units) {
  HotJson json = HotJson::object();
  for (const auto& [name, cycles] : units) json[name] = JsonNumber(cycles);
  return json;
}

HotJson LoopJson(const HotLoop& loop) {
  return {{"place", loop.place},
          {"instruction_share", JsonNumber(loop.instruction_share)},
          {"flop_share", JsonNumber(loop.flop_share)},
          {"iterations", loop.iterations},
          {"entries", loop.entries},
          {"instructions", JsonNumber(loop.instructions)},
          {"flops", JsonNumber(loop.flops)},
          {"fmas", JsonNumber(loop.fmas)},
          {"loads", JsonNumber(loop.loads)},
          {"stores", JsonNumber(loop.stores)},
          {"load_bytes", JsonNumber(loop.load_bytes)},
          {"spills", JsonNumber(loop.spills)},
          {"cycles", JsonNumber(loop.cycles)},
          {"units", UnitsJson(loop.units)},
          {"bound_by", BindingJson(loop.binding)},
          {"bound_by_reason", TextOrNull(loop.binding_reason)},
          {"listing", loop.listing}};
}

}  // namespace

nlohmann::ordered_json ToJson(const HotLoops& hot) {
  HotJson json = {{"instructions", hot.instructions},
                  {"flops", hot.flops},
                  {"blocks", hot.blocks},
                  {"blocks_of_95_percent", hot.blocks_of_95_percent},
                  {"cycles", JsonNumber(hot.cycles)},
                  {"units", UnitsJson(hot.units)},
                  {"bound_by", BindingJson(hot.binding)},
                  {"bound_by_reason", TextOrNull(hot.binding_reason)}};
  json["loops"] = HotJson::array();
  for (const HotLoop& loop : hot.loops) json["loops"].push_back(LoopJson(loop));
  return json;
}

}  // namespace topdnn
