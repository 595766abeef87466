#include "bench/studies/malleable/malleable_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/studies/results/result_file.h"
#include "bench/workload/images.h"
#include "harness/machine/cpu_set.h"
#include "harness/report/json.h"
#include "harness/width/width_limits.h"
#include "harness/width/width_signals.h"

namespace topdnn {

WidthBounds BoundsOf(const MalleableOptions& options) {
  const auto cpus = static_cast<int>(AllowedCpus().cpus.size());
  const WidthBounds bounds = {options.least.value_or(1), options.most.value_or(cpus)};
  if (bounds.most < 1 || bounds.most > cpus) {
    throw UsageError(
        fmt::format("--max-width {}: must be 1 to {}, the CPUs that this process may "
                    "use",
                    bounds.most, cpus));
  }
  if (bounds.least < 1 || bounds.least > bounds.most) {
    throw UsageError(fmt::format("--min-width {}: must be 1 to {}, the largest width", bounds.least,
                                 bounds.most));
  }
  return bounds;
}

std::unique_ptr<WidthWatcher> WatchWidth(WidthControl& control, const std::string& socket_path,
                                         bool limits, const std::filesystem::path& folder) {
  BlockWidthSignals();
  std::vector<std::unique_ptr<WidthSource>> sources;
  ControlSocket* socket = nullptr;
  if (!socket_path.empty()) {
    auto made = std::make_unique<ControlSocket>(control, socket_path, geteuid());
    socket = made.get();
    sources.push_back(std::move(made));
  }
  sources.push_back(std::make_unique<WidthSignals>(control, [socket, folder] {
    if (socket != nullptr) socket->RemoveFile();
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove(folder, ignored);
  }));
  if (limits) sources.push_back(std::make_unique<WidthLimits>(control));
  return std::make_unique<WidthWatcher>(std::move(sources));
}

Workload MalleableWorkload(WorkloadOptions& options, bool training, int most) {
  options.threads = most;
  FitToData(options);
  ChooseInNetwork(options, training);
  return MakeWorkload(options, training);
}

nlohmann::ordered_json MalleableHead(const MalleableOptions& options, const Workload& workload,
                                     WidthBounds bounds) {
  return NewResult({{"network", workload.network},
                    {"mode", options.training() ? "train" : "infer"},
                    {"batch", workload.batch},
                    {"dtype", workload.dtype},
                    {"backend", workload.backend},
                    {"min_width", bounds.least},
                    {"max_width", bounds.most}});
}

}  // namespace topdnn
