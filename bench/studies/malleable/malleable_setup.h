// What both modes of `topdnn malleable` share: the options, the bounds of the width, and the
// sources of requests.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_SETUP_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_SETUP_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bench/studies/malleable/malleable_run.h"
#include "bench/workload/workload.h"
#include "harness/width/control_socket.h"
#include "harness/width/width_control.h"
#include "harness/width/width_watcher.h"

namespace topdnn {

struct MalleableOptions {
  WorkloadOptions workload;
  bool train = false;
  bool infer = false;
  std::optional<int> least;  // --min-width
  std::optional<int> most;   // --max-width
  std::string json;
  bool quiet = false;
  // A run that obeys others.
  std::optional<std::int64_t> steps;
  std::optional<int> width;
  std::string control;
  // The measurement.
  std::int64_t changes = 50;
  std::string by = "api,signal,socket,quota";
  std::string widths;

  bool training() const { return !infer; }
  bool is_job() const { return steps.has_value(); }
};

struct WidthBounds {
  int least = 1;
  int most = 1;
};

// --min-width and --max-width, within the CPUs that the process may use. Throws UsageError.
WidthBounds BoundsOf(const MalleableOptions& options);

// The sources of requests and the thread that serves them: signals, a control socket if it has a
// path, and the container's limits if `limits`. Make it before any other thread exists, since it
// blocks signals. A second SIGINT or SIGTERM removes the socket and its `folder`, if one is given,
// and ends the process. Throws UsageError for a path at which no socket can be made.
std::unique_ptr<WidthWatcher> WatchWidth(WidthControl& control, const std::string& socket_path,
                                         bool limits, const std::filesystem::path& folder = {});

// Plans the network for `most` threads. Throws UsageError.
Workload MalleableWorkload(WorkloadOptions& options, bool training, int most);

// The keys of both modes: "schema", "command", "machine", "network", ....
nlohmann::ordered_json MalleableHead(const MalleableOptions& options, const Workload& workload,
                                     WidthBounds bounds);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_SETUP_H_
