// A source of requests for a WidthControl. To add one, derive from WidthSource and give it to the
// WidthWatcher.

#ifndef TOPDNN_HARNESS_WIDTH_WIDTH_SOURCE_H_
#define TOPDNN_HARNESS_WIDTH_WIDTH_SOURCE_H_

#include <poll.h>

#include <vector>

namespace topdnn {

// The watcher's thread calls both functions. They must not block.
class WidthSource {
 public:
  WidthSource() = default;
  virtual ~WidthSource() = default;
  WidthSource(const WidthSource&) = delete;
  WidthSource& operator=(const WidthSource&) = delete;

  // Adds the descriptors to wait for.
  virtual void AddTo(std::vector<pollfd>& /*waits*/) {}
  // Called when a descriptor of any source is ready, and at least every kWatchPeriod.
  virtual void Serve() = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_WIDTH_SOURCE_H_
