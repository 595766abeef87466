// Adds a report, `--export outside=FILE`: the number of stages.

#include <fmt/format.h>

#include "harness/report/registry.h"

namespace topdnn {

namespace {

const ReportRegistration kOutside(FileReport{
    .name = "outside",
    .help = "write the number of stages to this file",
    .text = [](const Report& report) { return fmt::format("{} stages\n", report.stages.size()); }});

}  // namespace

}  // namespace topdnn
