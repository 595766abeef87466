// Signals as a source of width requests: SIGUSR1 asks for one thread fewer, SIGUSR2 for one more,
// SIGTERM and SIGINT for the end after this iteration.
//
// The signals are blocked and read from a signalfd, so nothing runs in a signal handler.

#ifndef TOPDNN_HARNESS_SHARING_WIDTH_SIGNALS_H_
#define TOPDNN_HARNESS_SHARING_WIDTH_SIGNALS_H_

#include <atomic>
#include <functional>
#include <vector>

#include "harness/sharing/width_control.h"
#include "harness/sharing/width_source.h"

namespace topdnn {

// Blocks the signals in the calling thread. Threads that it starts inherit this, so call it before
// any other thread exists: a thread that does not block them would receive them.
void BlockWidthSignals();

class WidthSignals final : public WidthSource {
 public:
  // `at_once` is called for the second request to end, before the process exits with the signal's
  // status. Throws std::system_error.
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

#endif  // TOPDNN_HARNESS_SHARING_WIDTH_SIGNALS_H_
