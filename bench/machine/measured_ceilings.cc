#include "bench/machine/measured_ceilings.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/command_line/environment.h"
#include "bench/machine/libraries.h"

namespace topdnn {

namespace {

const std::string& KeyOfThisMachine() {
  static const std::string key = ThisMachineKey(LibraryVersions().dump());
  return key;
}

}  // namespace

RememberedBest BestOfThisMachine() {
  return ReadRememberedBest(CacheFolder::OfUser(), KeyOfThisMachine());
}

void RememberRates(const std::vector<RateSeen>& seen) {
  static bool said = false;
  const std::string why = UpdateRememberedBest(CacheFolder::OfUser(), KeyOfThisMachine(), seen);
  if (!why.empty() && !said) fmt::print(stderr, "topdnn: {}\n", why);
  said = said || !why.empty();
}

double CeilingSeconds() { return SecondsInEnvironment("TOPDNN_CEILING_SECONDS", 1); }

std::vector<Ceiling> MeasureCeilingsOfThisMachine(
    int threads, const std::function<bool(const Ceiling&)>& needed) {
  std::vector<Ceiling> ceilings = MeasureCeilings(threads, CeilingSeconds(), needed);
  const std::vector<RateSeen> seen = RatesOf(ceilings);
  MarkAgainstBest(BestOfThisMachine(), ceilings);
  RememberRates(seen);
  return ceilings;
}

const std::vector<Ceiling>& MeasuredCeilings(int threads) {
  static auto* measured = new std::map<int, std::vector<Ceiling>>();
  auto& ceilings = (*measured)[threads];
  if (ceilings.empty()) ceilings = MeasureCeilingsOfThisMachine(threads);
  return ceilings;
}

const Ceiling* CeilingOfKernel(const std::vector<Ceiling>& ceilings, std::string_view isa,
                               DataType type, int threads) {
  if (isa.empty()) return nullptr;
  const std::string_view name = NameOf(type == DataType::kU8 ? DataType::kS8 : type);
  return CeilingFor(ceilings, isa, name, threads);
}

const Ceiling* CeilingOfKernel(std::string_view isa, DataType type, int threads) {
  return isa.empty() ? nullptr : CeilingOfKernel(MeasuredCeilings(threads), isa, type, threads);
}

void HoldTo(const Ceiling* ceiling, Record& record) {
  if (ceiling == nullptr || !ceiling->value) return;
  record.ceiling_name = ceiling->name;
  record.ceiling_verdict = ceiling->verdict;
  if (ceiling->verdict.status < Status::kInvalid) {
    record.ceiling_flops_per_second = *ceiling->value;
  }
}

}  // namespace topdnn
