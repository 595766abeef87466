#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/report/json.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// "49.8 to 74.5", in percent.
std::string IntervalText(const std::optional<Interval>& share) {
  if (!share) return std::string(kAbsentText);
  return fmt::format("{:.1f} to {:.1f}", share->low * 100, share->high * 100);
}

}  // namespace

std::string MixesText(std::string_view what, const std::vector<MixResult>& mixes,
                      const Style& style) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  Table table({{.name = fmt::format("{} on known code", what)},
               {.name = "threads", .kind = kRight},
               {.name = "truth", .kind = kRight, .unit = "%"},
               {.name = "measured", .kind = kRight, .unit = "%"},
               {.name = "verdict", .kind = Table::Kind::kWord},
               {.name = "reason", .kind = Table::Kind::kText, .rank = 1}});
  for (const MixResult& mix : mixes) {
    table.Add({mix.name, std::to_string(mix.threads), IntervalText(mix.truth),
               IntervalText(mix.measured), NameOf(mix.verdict), mix.reason});
  }
  return table.Text(style);
}

nlohmann::ordered_json ToJson(const MixResult& mix) {
  nlohmann::ordered_json json = {{"name", mix.name}, {"threads", mix.threads}};
  json["truth"] = IntervalJson(mix.truth);
  json["measured"] = IntervalJson(mix.measured);
  json["verdict"] = NameOf(mix.verdict);
  json["reason"] = nullptr;
  if (!mix.reason.empty()) json["reason"] = mix.reason;
  return json;
}

}  // namespace topdnn
