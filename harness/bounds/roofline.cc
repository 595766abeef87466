#include "harness/bounds/roofline.h"

#include <nlohmann/json.hpp>

namespace topdnn {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> Intensity(double flops, const std::optional<double>& bytes) {
  if (!bytes || !(*bytes > 0)) return std::nullopt;
  return flops / *bytes;
}

Json NumberJson(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json RoofJson(const std::optional<Roof>& roof, const char* unit) {
  if (!roof) return nullptr;
  return {{"name", roof->name}, {unit, roof->value}};
}

}  // namespace

std::optional<double> Roofline::l1_intensity() const { return Intensity(flops, l1_bytes); }
std::optional<double> Roofline::dram_intensity() const { return Intensity(flops, dram_bytes); }

std::optional<Roof> Roofline::attainable() const {
  return withheld ? std::nullopt : lowest_known();
}

std::optional<Roof> Roofline::lowest_known() const {
  std::optional<Roof> lowest = compute;
  const auto consider = [&](const std::optional<Roof>& roof, const std::optional<double>& x) {
    if (!roof || !x || (lowest && lowest->value <= roof->value * *x)) return;
    lowest = Roof{roof->name, roof->value * *x};
  };
  consider(l1, l1_intensity());
  if (dram_applies) consider(dram, dram_intensity());
  return lowest;
}

std::optional<Roof> BandwidthRoof(const std::vector<Ceiling>& ceilings, const std::string& level) {
  std::optional<Roof> highest;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.unit != "B/s" || ceiling.operands != level || !ceiling.value) continue;
    if (ceiling.verdict.status >= Status::kInvalid) continue;
    if (!highest || *ceiling.value > highest->value) highest = Roof{ceiling.name, *ceiling.value};
  }
  return highest;
}

Json ToJson(const Roofline& r) {
  Json json = {{"flops", r.flops},
               {"flops_are", r.counted ? "executed" : "defined"},
               {"flops_per_second", r.flops_per_second()},
               {"l1_bytes", NumberJson(r.l1_bytes)},
               {"dram_bytes", NumberJson(r.dram_bytes)},
               {"l1_intensity", NumberJson(r.l1_intensity())},
               {"dram_intensity", NumberJson(r.dram_intensity())}};
  json["roofs"] = {{"compute", RoofJson(r.compute, "flops_per_second")},
                   {"l1", RoofJson(r.l1, "bytes_per_second")},
                   {"dram", RoofJson(r.dram, "bytes_per_second")}};
  json["dram_applies"] = r.dram_applies;
  json["withheld"] = r.withheld;
  json["attainable"] = RoofJson(r.attainable(), "flops_per_second");
  return json;
}

}  // namespace topdnn
