#include "harness/width/width_watcher.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace topdnn {

WidthWatcher::WidthWatcher(std::vector<std::unique_ptr<WidthSource>> sources)
    : sources_(std::move(sources)), end_(eventfd(0, EFD_CLOEXEC)) {
  if (end_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  try {
    thread_ = std::thread([this] { Watch(); });
  } catch (...) {
    close(end_);
    throw;
  }
}

WidthWatcher::~WidthWatcher() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(end_, &one, sizeof one);
  thread_.join();
  close(end_);
}

void WidthWatcher::Watch() {
  std::vector<pollfd> waits;
  for (;;) {
    waits.assign(1, pollfd{end_, POLLIN, 0});
    for (const auto& source : sources_) source->AddTo(waits);
    // (an error of poll, such as EINTR, only makes the next round earlier)
    poll(waits.data(), waits.size(), static_cast<int>(kWatchPeriod.count()));
    if ((waits.front().revents & POLLIN) != 0) return;
    for (const auto& source : sources_) source->Serve();
  }
}

}  // namespace topdnn
