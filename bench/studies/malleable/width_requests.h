// Asks a running workload of this process for other widths, in each way that it obeys.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_REQUESTS_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_REQUESTS_H_

#include <memory>
#include <string>
#include <vector>

#include "harness/width/width_control.h"

namespace topdnn {

// One way to ask. It is used on another thread than the run's.
class WidthRequester {
 public:
  WidthRequester() = default;
  virtual ~WidthRequester() = default;
  WidthRequester(const WidthRequester&) = delete;
  WidthRequester& operator=(const WidthRequester&) = delete;

  // Returns when the request is made; the run need not have the width yet. Throws
  // std::runtime_error.
  virtual void Ask(int width) = 0;
};

// "api", "signal", "socket", "quota".
std::vector<std::string> RequesterNames();

// `socket_path`: of the control socket, for "socket". "quota" changes the CPUs that the process may
// use, and the limits are watched as long as the requester exists.
std::unique_ptr<WidthRequester> MakeRequester(const std::string& name, WidthControl& control,
                                              const std::string& socket_path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_REQUESTS_H_
