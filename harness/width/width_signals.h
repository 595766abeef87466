// Signals as a source of width requests: SIGUSR1 requests one thread fewer, SIGUSR2 one more,
// SIGTERM and SIGINT the end after this iteration.
//
// The signals are blocked and read from a signalfd, so nothing runs in a signal handler.

#ifndef TOPDNN_HARNESS_WIDTH_WIDTH_SIGNALS_H_
#define TOPDNN_HARNESS_WIDTH_WIDTH_SIGNALS_H_

#include <functional>
#include <vector>

#include "harness/width/width_control.h"
#include "harness/width/width_source.h"

namespace topdnn {

// Blocks the signals in the calling thread. Threads that it starts inherit this, so call it before
// any other thread exists: a thread that does not block them would receive them.
void BlockWidthSignals();

class WidthSignals final : public WidthSource {
 public:
  // The signals must be blocked (BlockWidthSignals). At the second request to end, calls `at_once`
  // (it may be empty), and the process exits at once with status 128 + the signal's number. Throws
  // std::system_error.
  WidthSignals(WidthControl& control, std::function<void()> at_once);
  ~WidthSignals() override;

  void AddTo(std::vector<pollfd>& waits) override;
  void Serve() override;

 private:
  void Take(int signal);

  WidthControl& control_;
  std::function<void()> at_once_;
  int fd_ = -1;
  bool ending_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_WIDTH_SIGNALS_H_
