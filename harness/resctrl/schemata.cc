#include "harness/resctrl/schemata.h"

#include <fmt/format.h>

#include <bit>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

// Takes the text up to the separator off the front.
std::string_view TakeUntil(char separator, std::string_view& text) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return front;
}

bool ParseDomains(std::string_view text, int base, DomainValues& values) {
  while (!text.empty()) {
    std::string_view value = TakeUntil(';', text);
    if (value.find('=') == std::string_view::npos) return false;
    const auto domain = ParseNumber<int>(Trimmed(TakeUntil('=', value)));
    const auto number = ParseNumber<std::uint64_t>(Trimmed(value), base);
    if (!domain || *domain < 0 || !number) return false;
    values[*domain] = *number;
  }
  return !values.empty();
}

bool IsContiguous(std::uint64_t mask) {
  const std::uint64_t low = mask >> std::countr_zero(mask);
  return (low & (low + 1)) == 0;
}

// The length of the lowest run of ones, which is what the kernel counts.
int LowestRun(std::uint64_t mask) { return std::countr_one(mask >> std::countr_zero(mask)); }

}  // namespace

bool IsBandwidth(std::string_view resource) { return resource == "MB" || resource == "SMBA"; }

std::optional<Schemata> ParseSchemata(std::string_view text) {
  Schemata schemata;
  while (!text.empty()) {
    std::string_view line = TakeUntil('\n', text);
    if (Trimmed(line).empty()) continue;
    if (line.find(':') == std::string_view::npos) return std::nullopt;
    const std::string resource(Trimmed(TakeUntil(':', line)));
    if (resource.empty()) return std::nullopt;
    if (Trimmed(line) == "uninitialized") continue;
    DomainValues values;
    if (!ParseDomains(line, IsBandwidth(resource) ? 10 : 16, values)) return std::nullopt;
    schemata[resource] = values;
  }
  return schemata;
}

std::string SchemataText(const Schemata& schemata) {
  std::string text;
  for (const auto& [resource, values] : schemata) {
    std::string line;
    for (const auto& [domain, value] : values) {
      line += line.empty() ? "" : ";";
      line += IsBandwidth(resource) ? fmt::format("{}={}", domain, value)
                                    : fmt::format("{}={:x}", domain, value);
    }
    text += fmt::format("{}:{}\n", resource, line);
  }
  return text;
}

std::optional<std::uint64_t> ParseMask(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return ParseNumber<std::uint64_t>(text, 16);
}

std::string MaskText(std::uint64_t mask) { return fmt::format("0x{:x}", mask); }

std::string MaskProblem(std::uint64_t mask, const MaskRules& rules) {
  if ((mask & ~rules.all) != 0) {
    return fmt::format("is wider than this cache's mask {}: use its {} bits", MaskText(rules.all),
                       std::popcount(rules.all));
  }
  if (mask == 0) {
    return rules.least_bits == 0 ? ""
                                 : "is zero: a workload needs part of the cache, so set some bits";
  }
  if (!rules.sparse && !IsContiguous(mask)) {
    return "is not contiguous, which this cache needs: set adjacent bits, such as 0x3c";
  }
  if (LowestRun(mask) < rules.least_bits) {
    return fmt::format("has fewer than the {} adjacent bits that this cache needs: set more",
                       rules.least_bits);
  }
  return "";
}

}  // namespace topdnn
