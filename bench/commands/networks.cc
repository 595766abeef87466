// `topdnn networks`: the networks that a command's NET can name.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "harness/files/atomic_file.h"
#include "harness/report/publish_result.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "networks/graph/graph.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

struct NetworksOptions {
  std::string json;
};

// "3x32x32"
std::string ImageText(const Shape& image) {
  return fmt::format("{}", fmt::join(image.extents(), "x"));
}

// With the digits of the publication, at most three after the point.
std::string PublishedText(const std::optional<PublishedFigure>& figure, double scale) {
  if (!figure) return "n/a";
  const int decimals = static_cast<int>(std::ceil(std::log10(scale / figure->unit) - 1e-9));
  return fmt::format("{:.{}f}", figure->value / scale, std::clamp(decimals, 0, 3));
}

int RunNetworks(const NetworksOptions& options) {
  if (!options.json.empty()) CheckWritable(options.json);
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "network", .least = 17},
               {.name = "image", .kind = Table::Kind::kRight},
               {.name = "classes", .kind = kFigure, .decimals = 0},
               {.name = "layers", .kind = kFigure, .rank = 2, .decimals = 0},
               {.name = "parameters", .kind = kFigure, .unit = "M", .decimals = 3},
               {.name = "published", .kind = Table::Kind::kRight, .unit = "M", .rank = 1},
               {.name = "GMAC", .kind = kFigure, .decimals = 4},
               {.name = "published", .kind = Table::Kind::kRight, .unit = "GMAC", .rank = 1},
               {.name = "source", .kind = Table::Kind::kText, .least = 14}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const NetworkOffer& offer : Networks()) {
    const Graph graph = offer.build({.batch = 1, .image = offer.image, .classes = offer.classes});
    const GraphTotals totals = graph.Totals();
    const auto real = [](auto count) { return static_cast<double>(count); };
    const PublishedTotals& theirs = offer.published;
    const auto or_null = [](const std::optional<PublishedFigure>& figure) {
      return figure ? nlohmann::json(figure->value) : nlohmann::json();
    };
    table.Add({offer.FullName(), ImageText(offer.image), real(offer.classes),
               real(graph.nodes().size()), real(totals.parameters) * 1e-6,
               PublishedText(theirs.parameters, 1e6), real(totals.macs) * 1e-9,
               PublishedText(theirs.macs, 1e9), offer.source});
    rows.push_back(
        {{"name", offer.FullName()},
         {"image", offer.image.extents()},
         {"classes", offer.classes},
         {"layers", graph.nodes().size()},
         {"parameters", totals.parameters},
         {"macs", totals.macs},
         {"published",
          {{"parameters", or_null(theirs.parameters)},
           {"macs", or_null(theirs.macs)},
           {"source", theirs.source.empty() ? nlohmann::json() : nlohmann::json(theirs.source)}}},
         {"source", offer.source}});
  }
  PublishResult(
      options.json,
      [&rows] {
        return nlohmann::ordered_json{{"schema", 1}, {"networks", rows}};
      },
      [&table](const Style& style) {
        return table.Text(style) +
               "GMAC: multiply-accumulates of one image forward, without biases\n"
               "published: by the source that --json names\n";
      });
  return kExitGood;
}

std::function<int()> ConfigureNetworks(CommandParser& parser) {
  auto options = std::make_shared<NetworksOptions>();
  parser.Add("--json FILE", options->json,
             "write the list to this file as JSON; - is standard output");
  return [options] { return RunNetworks(*options); };
}

const CommandRegistration kNetworks(
    {"networks", Question::kModels,
     "the networks that can be named: size, parameters, operations, source", ConfigureNetworks,
     "topdnn networks"});

}  // namespace

}  // namespace topdnn
