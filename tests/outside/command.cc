// Adds a command, `topdnn outside`, which lists what no other command lists.

#include "bench/command_line/command.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "datasets/format.h"
#include "harness/topdown/metric.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

std::function<int()> Configure(CommandParser& /*parser*/) {
  return [] {
    for (const TopdownTable& table : TopdownTables()) fmt::print("table {}\n", table.cpu);
    for (const DatasetFormat& format : DatasetFormats()) fmt::print("data set {}\n", format.name);
    for (const std::string& operation : ImportedOperations()) fmt::print("onnx {}\n", operation);
    return kExitGood;
  };
}

const CommandRegistration kOutside({"outside", Question::kMeasure,
                                    "what was added outside the tree", Configure,
                                    "topdnn outside"});

}  // namespace

}  // namespace topdnn
