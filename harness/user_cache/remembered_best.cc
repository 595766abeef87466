#include "harness/user_cache/remembered_best.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/machine/cpu_set.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/text/nested_json.h"

namespace topdnn {
namespace {

using Json = nlohmann::json;

constexpr int kBestSchema = 1;
constexpr std::size_t kMaxMachines = 16;

std::string NameOf(const Ceiling& ceiling) {
  return fmt::format("{}/t{}", ceiling.name, ceiling.threads);
}

std::string QuietName(std::string_view what, int threads) {
  return fmt::format("quiet/{}/t{}", what, threads);
}

double LeastOfBest(const Ceiling& ceiling) {
  return IsShared(ceiling) ? 1 - kMemoryNoise : kMinOfBest;
}

std::optional<double> NumberAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

// The file's content; empty if the text is invalid, so that the next update replaces it.
Json Parse(const std::optional<std::string>& text) {
  Json empty = {{"schema", kBestSchema}, {"machines", Json::object()}};
  if (!text) return empty;
  Json json = ParseForeignJson<Json>(*text);
  const bool known = json.is_object() && json.value("schema", Json()) == Json(kBestSchema) &&
                     json.value("machines", Json()).is_object();
  return known ? json : empty;
}

RememberedBest BestOf(const Json& json, const std::string& machine_key) {
  RememberedBest known;
  const auto machine = json.at("machines").find(machine_key);
  if (machine == json.at("machines").end() || !machine->is_object()) return known;
  const auto rates = machine->find("rates");
  if (rates == machine->end() || !rates->is_object()) return known;
  for (const auto& [name, rate] : rates->items()) {
    if (!rate.is_object()) continue;
    known[name] = {NumberAt(rate, "best"), NumberAt(rate, "unconfirmed")};
  }
  return known;
}

void DropOldest(Json& machines) {
  const auto seen = [](const Json& machine) {
    return machine.is_object() ? NumberAt(machine, "seen").value_or(0) : 0;
  };
  while (machines.size() > kMaxMachines) {
    auto oldest = machines.begin();
    for (auto machine = machines.begin(); machine != machines.end(); ++machine) {
      if (seen(*machine) < seen(*oldest)) oldest = machine;
    }
    machines.erase(oldest);
  }
}

std::string TextOf(const std::optional<std::string>& text, const std::string& machine_key,
                   const std::vector<RateSeen>& rates) {
  Json json = Parse(text);
  RememberedBest known = BestOf(json, machine_key);
  Remember(rates, known);
  Json machine = {{"seen", std::time(nullptr)}, {"rates", Json::object()}};
  for (const auto& [name, rate] : known) {
    Json& entry = machine["rates"][name] = Json::object();
    if (rate.best) entry["best"] = *rate.best;
    if (rate.unconfirmed) entry["unconfirmed"] = *rate.unconfirmed;
  }
  json["machines"][machine_key] = std::move(machine);
  DropOldest(json["machines"]);
  return json.dump(1) + "\n";
}

}  // namespace

std::vector<RateSeen> RatesOf(const std::vector<Ceiling>& ceilings) {
  std::vector<RateSeen> seen;
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.value || IsLatency(ceiling) || ceiling.verdict.status != Status::kOk) continue;
    seen.push_back({NameOf(ceiling), *ceiling.value, IsShared(ceiling) ? kMemoryNoise : kRunNoise});
  }
  return seen;
}

std::vector<RateSeen> RatesOf(const QuietReading& reading, int threads) {
  std::vector<RateSeen> seen;
  if (reading.flops_per_second) {
    seen.push_back({QuietName("flops", threads), *reading.flops_per_second, kRunNoise});
  }
  if (reading.bytes_per_second) {
    seen.push_back({QuietName("bytes", threads), *reading.bytes_per_second, kMemoryNoise});
  }
  if (reading.instructions_per_second) {
    seen.push_back(
        {QuietName("instructions", threads), *reading.instructions_per_second, kRunNoise});
  }
  return seen;
}

void Remember(const std::vector<RateSeen>& seen, RememberedBest& known) {
  for (const auto& [name, rate, noise] : seen) {
    if (!std::isfinite(rate) || !(rate > 0)) continue;
    RememberedRate& remembered = known[name];
    if (remembered.best && rate <= *remembered.best) continue;
    if (remembered.best && rate <= *remembered.best * std::max(kMaxGain, 1 + noise)) {
      remembered.best = rate;
      continue;
    }
    const double other = remembered.unconfirmed.value_or(0);
    if (std::min(rate, other) >= (1 - noise) * std::max(rate, other)) {
      // Reached by both runs. (since `other`, the best may have grown past it in small steps)
      remembered.best = std::max(remembered.best.value_or(0), std::min(rate, other));
      remembered.unconfirmed.reset();
    } else {
      remembered.unconfirmed = rate;
    }
  }
}

std::string JudgeAgainstBest(const Ceiling& ceiling, const RememberedBest& known) {
  const auto found = known.find(NameOf(ceiling));
  if (!ceiling.value || IsLatency(ceiling) || found == known.end() || !found->second.best)
    return {};
  const double share = *ceiling.value / *found->second.best;
  if (share >= LeastOfBest(ceiling)) return {};
  Ceiling best = ceiling;
  best.value = found->second.best;
  return fmt::format(
      "the machine reaches {:.0f} % of its own best since it was started ({} of {}): a neighbour, "
      "or another clock (`topdnn forget` clears the record)",
      100 * share, ValueText(ceiling), ValueText(best));
}

void MarkAgainstBest(const RememberedBest& known, std::vector<Ceiling>& ceilings) {
  for (Ceiling& ceiling : ceilings) {
    const std::string reason = JudgeAgainstBest(ceiling, known);
    if (!reason.empty()) Worsen(ceiling.verdict, Status::kDegraded, reason);
  }
}

QuietReading BestQuietReading(const RememberedBest& known, int threads) {
  const auto best = [&](std::string_view what) -> std::optional<double> {
    const auto found = known.find(QuietName(what, threads));
    return found == known.end() ? std::nullopt : found->second.best;
  };
  return {best("flops"), best("bytes"), best("instructions")};
}

std::string MachineKey(const Cpu& cpu, const std::vector<IsaVerdict>& isas,
                       const std::vector<int>& allowed, const std::string& libraries,
                       const std::string& boot_id) {
  std::vector<std::string> usable;
  for (const IsaVerdict& verdict : isas) {
    if (verdict.usable) usable.emplace_back(NameOf(verdict.isa));
  }
  return fmt::format("{} {} {}/{}/{} [{}] in {} on CPUs {}; {}; boot {}", cpu.vendor, cpu.brand,
                     cpu.family, cpu.model, cpu.stepping, fmt::join(usable, " "),
                     cpu.hypervisor.empty() ? "no hypervisor" : cpu.hypervisor,
                     fmt::join(allowed, ","), libraries, boot_id);
}

std::string ThisMachineKey(const std::string& libraries) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  return MachineKey(IdentifyCpu(), MachineIsas(), AllowedCpus().cpus, libraries, boot_id);
}

RememberedBest ReadRememberedBest(const CacheFolder& folder, const std::string& machine_key) {
  return BestOf(Parse(folder.Read(kBestFile)), machine_key);
}

std::string UpdateRememberedBest(const CacheFolder& folder, const std::string& machine_key,
                                 const std::vector<RateSeen>& seen) {
  const std::string why = folder.Update(kBestFile, [&](const std::optional<std::string>& text) {
    return TextOf(text, machine_key, seen);
  });
  return why.empty() ? "" : fmt::format("the machine's best is not remembered: {}", why);
}

}  // namespace topdnn
