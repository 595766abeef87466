// `topdnn results`: keeps results in a folder, and finds them again.

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/nearest.h"
#include "bench/studies/results/result_index.h"
#include "bench/studies/results/result_store.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/table.h"

namespace topdnn {

namespace {

struct ResultsOptions {
  std::string action;
  std::vector<std::string> arguments;
  std::string store;
};

ResultStore OpenStore(const ResultsOptions& options, bool make) {
  const std::filesystem::path folder =
      options.store.empty() ? ResultStore::FolderOfUser() : std::filesystem::path(options.store);
  return make ? ResultStore::OpenOrMake(folder) : ResultStore::Open(folder);
}

// Throws UsageError unless there are as many arguments as the action takes.
void CheckArguments(const ResultsOptions& options) {
  CheckName("action", options.action, {"add", "list", "query", "rebuild", "show"});
  const std::size_t given = options.arguments.size();
  const bool one = options.action == "show" || options.action == "query";
  const bool none = options.action == "list" || options.action == "rebuild";
  if (options.action == "add" && given == 0) {
    throw UsageError("results add: name a result: a profile's JSON or a sweep's folder");
  }
  if (one && given != 1) {
    throw UsageError(fmt::format("results {}: takes {}", options.action,
                                 options.action == "show"
                                     ? "one ID: `topdnn results list` prints them"
                                     : "one statement, in quotes: \"SELECT * FROM results\""));
  }
  if (none && given != 0) {
    throw UsageError(fmt::format("results {}: takes no argument", options.action));
  }
}

void PrintNotice(const std::string& notice) {
  if (!notice.empty()) fmt::print(stderr, "topdnn: {}\n", OneLine(notice));
}

std::string TextOf(const DatabaseValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::nullptr_t>) {
          return "n/a";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return OneLine(held);
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

void PrintTable(const DatabaseTable& rows) {
  std::vector<Table::Column> columns;
  for (const std::string& name : rows.columns) {
    columns.push_back({.name = OneLine(name), .kind = Table::Kind::kWord});
  }
  Table table(std::move(columns));
  for (const DatabaseRow& row : rows.rows) {
    std::vector<Table::Cell> cells;
    for (const DatabaseValue& value : row) cells.emplace_back(TextOf(value));
    table.Add(std::move(cells));
  }
  Style style = DetectStyle(stdout);
  style.cut = false;
  if (!rows.columns.empty()) fmt::print("{}", table.Text(style));
}

void PrintList(const DatabaseTable& rows) {
  using Kind = Table::Kind;
  Table table({{.name = "id", .kind = Kind::kWord},
               {.name = "stored", .kind = Kind::kWord},
               {.name = "kind", .kind = Kind::kWord},
               {.name = "network", .kind = Kind::kWord},
               {.name = "mode", .kind = Kind::kWord},
               {.name = "batch", .kind = Kind::kRight},
               {.name = "dtype", .kind = Kind::kWord},
               {.name = "threads", .kind = Kind::kRight},
               {.name = "step", .kind = Kind::kTime},
               {.name = "status", .kind = Kind::kWord}});
  std::string problems;
  for (const DatabaseRow& row : rows.rows) {
    std::vector<Table::Cell> cells;
    for (std::size_t i = 0; i < 10; ++i) {
      const double* const seconds = std::get_if<double>(&row[i]);
      constexpr std::size_t kStep = 8;
      if (i == kStep) {
        cells.emplace_back(seconds == nullptr ? std::nullopt : std::optional(*seconds));
      } else {
        cells.emplace_back(TextOf(row[i]));
      }
    }
    table.Add(std::move(cells));
    const auto* const problem = std::get_if<std::string>(&row.back());
    if (problem != nullptr) problems += fmt::format("damaged: {}\n", OneLine(*problem));
  }
  fmt::print("{}{}", rows.rows.empty() ? "no results\n" : table.Text(DetectStyle(stdout)),
             problems);
}

int Add(const ResultsOptions& options) {
  const ResultStore store = OpenStore(options, true);
  for (const std::string& path : options.arguments) {
    for (const std::string& id : store.Add(path)) fmt::print("{}\n", id);
  }
  // The results are stored whatever happens to the index.
  PrintNotice(ResultIndex(store).notice());
  return kExitGood;
}

int RunResults(const ResultsOptions& options) {
  CheckArguments(options);
  if (options.action == "add") return Add(options);
  const ResultStore store = OpenStore(options, false);
  if (options.action == "rebuild") {
    store.RemoveLeftovers();
    ResultIndex::Rebuild(store);
    fmt::print("{} results\n", store.Ids().size());
    return kExitGood;
  }
  if (options.action == "show") {
    fmt::print("{}", store.Read(store.Find(options.arguments.front())));
    return kExitGood;
  }
  ResultIndex index(store);
  PrintNotice(index.notice());
  if (options.action == "list") {
    PrintList(index.List());
  } else {
    PrintTable(index.Query(options.arguments.front()));
  }
  return kExitGood;
}

std::function<int()> ConfigureResults(CommandParser& parser) {
  auto options = std::make_shared<ResultsOptions>();
  parser.Require("ACTION add|list|show|query|rebuild", options->action,
                 "add results, list them, show the JSON of one, query the index with SQL, or make "
                 "the index again from the files");
  parser.AddList("ARGUMENT", options->arguments, "ARGUMENT...",
                 "the files for add, the ID for show, the SQL for query");
  parser.Add("--store DIR", options->store,
             "the folder of the results (default: $XDG_DATA_HOME/topdnn, or "
             "~/.local/share/topdnn)");
  return [options] { return RunResults(*options); };
}

const CommandRegistration kResults({"results", Question::kKeep,
                                    "keep results, list them and query them", ConfigureResults,
                                    "topdnn results add out.json"});

}  // namespace

}  // namespace topdnn
