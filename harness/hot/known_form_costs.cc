#include "harness/hot/known_form_costs.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/text/nested_json.h"

namespace topdnn {

namespace {

using FormJson = nlohmann::json;

constexpr int kFormSchema = 2;  // 1: each run replaced the dispatch width, and kept its forms

std::string KeyOf(const Cpu& cpu) {
  return fmt::format("{} {} {}/{}/{} in {}", cpu.vendor, cpu.brand, cpu.family, cpu.model,
                     cpu.stepping, cpu.hypervisor.empty() ? "no hypervisor" : cpu.hypervisor);
}

bool IsCycles(const FormJson& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
}

// Instructions that a core dispatches in a cycle.
bool IsWidth(const FormJson& value) {
  constexpr double kWidest = 32;
  return IsCycles(value) && value.get<double>() > 0 && value.get<double>() <= kWidest;
}

FormJson CostJson(const FormCost& cost) {
  FormJson json = {{"units", cost.units}, {"alone", cost.alone}};
  if (cost.latency) json["latency"] = *cost.latency;
  return json;
}

std::optional<FormCost> CostFrom(const FormJson& json) {
  if (!json.is_object() || !json.contains("units") || !json.contains("alone")) return std::nullopt;
  const FormJson& units = json["units"];
  if (!units.is_array() || units.size() != kCoreUnits || !IsCycles(json["alone"])) {
    return std::nullopt;
  }
  FormCost cost;
  for (std::size_t u = 0; u < kCoreUnits; ++u) {
    if (!IsCycles(units[u])) return std::nullopt;
    cost.units[u] = units[u].get<double>();
  }
  cost.alone = json["alone"].get<double>();
  if (json.contains("latency")) {
    if (!IsCycles(json["latency"])) return std::nullopt;
    cost.latency = json["latency"].get<double>();
  }
  return cost;
}

FormJson ParseFile(const std::optional<std::string>& text) {
  FormJson empty = {{"schema", kFormSchema}, {"cpus", FormJson::object()}};
  if (!text) return empty;
  FormJson json = ParseForeignJson<FormJson>(*text);
  const bool known = json.is_object() &&
                     json.value("schema", FormJson()) == FormJson(kFormSchema) &&
                     json.value("cpus", FormJson()).is_object();
  return known ? json : empty;
}

FormCosts CostsIn(const FormJson& file, const Cpu& cpu) {
  FormCosts costs;
  const FormJson own = file["cpus"].value(KeyOf(cpu), FormJson());
  if (!own.is_object() || !IsWidth(own.value("dispatch_width", FormJson())) ||
      !IsCycles(own.value("load", FormJson())) || !own.value("forms", FormJson()).is_object()) {
    return costs;
  }
  costs.dispatch_width = own["dispatch_width"].get<double>();
  costs.load = own["load"].get<double>();
  for (const auto& [name, json] : own["forms"].items()) {
    if (const auto cost = CostFrom(json)) costs.forms[name] = *cost;
  }
  return costs;
}

}  // namespace

FormCosts ReadFormCosts(const CacheFolder& folder, const Cpu& cpu) {
  return CostsIn(ParseFile(folder.Read(kFormCostsFile)), cpu);
}

std::string StoreFormCosts(const CacheFolder& folder, const Cpu& cpu, const FormCosts& costs) {
  const std::string why =
      folder.Update(kFormCostsFile, [&](const std::optional<std::string>& text) {
        FormJson file = ParseFile(text);
        FormCosts all = CostsIn(file, cpu);
        AddMeasured(costs, all);
        FormJson forms = FormJson::object();
        for (const auto& [name, cost] : all.forms) forms[name] = CostJson(cost);
        file["cpus"][KeyOf(cpu)] = {{"dispatch_width", all.dispatch_width},
                                    {"load", all.load},
                                    {"forms", std::move(forms)}};
        return file.dump() + "\n";
      });
  return why.empty() ? "" : fmt::format("the costs of instructions are not remembered: {}", why);
}

FormCosts CostsOfForms(const CacheFolder& folder, const FormExamples& examples, std::string* why) {
  const Cpu cpu = IdentifyCpu();
  FormCosts known = ReadFormCosts(folder, cpu);
  FormExamples missing;
  for (const auto& [form, example] : examples) {
    if (!known.forms.contains(form)) missing.emplace(form, example);
  }
  FormCosts measured;
  *why = MeasureFormCosts(missing, measured);
  if (!why->empty()) return known;
  FormCosts costs = known;
  AddMeasured(measured, costs);
  if (costs != known) StoreFormCosts(folder, cpu, costs);
  // The others were measured beside other work. They are good enough for this run, and the next one
  // measures them again.
  for (const FormCosts* run : std::initializer_list<const FormCosts*>{&measured, &known}) {
    for (const auto& [form, cost] : run->forms) {
      if (!costs.forms.emplace(form, cost).second) continue;
      costs.forms[form].units[kDispatchUnit] *= run->dispatch_width / costs.dispatch_width;
    }
  }
  return costs;
}

}  // namespace topdnn
