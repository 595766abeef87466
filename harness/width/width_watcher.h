// The thread that serves the sources of width requests while the workload runs.

#ifndef TOPDNN_HARNESS_WIDTH_WIDTH_WATCHER_H_
#define TOPDNN_HARNESS_WIDTH_WIDTH_WATCHER_H_

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "harness/width/width_source.h"

namespace topdnn {

// The longest time between two calls of Serve. The kernel gives no event for some files of a
// control group, so its limits are polled.
inline constexpr std::chrono::milliseconds kWatchPeriod{50};

class WidthWatcher {
 public:
  // Starts the thread. Throws std::system_error if it cannot.
  explicit WidthWatcher(std::vector<std::unique_ptr<WidthSource>> sources);
  // Ends the thread, and then the sources.
  ~WidthWatcher();
  WidthWatcher(const WidthWatcher&) = delete;
  WidthWatcher& operator=(const WidthWatcher&) = delete;

 private:
  void Watch();

  std::vector<std::unique_ptr<WidthSource>> sources_;
  int end_ = -1;  // an eventfd: the thread ends when it is readable
  std::thread thread_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_WIDTH_WATCHER_H_
