#include "bench/studies/width_requests.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/machine/cpu_set.h"
#include "harness/machine/thread_cpus.h"
#include "harness/sharing/width_limits.h"
#include "harness/sharing/width_watcher.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{20};

class ByApi final : public WidthRequester {
 public:
  explicit ByApi(WidthControl& control) : control_(control) {}
  void Ask(int width) override { control_.SetWidth(width); }

 private:
  WidthControl& control_;
};

// A signal changes the width by one.
class BySignal final : public WidthRequester {
 public:
  explicit BySignal(WidthControl& control) : control_(control) {}
  void Ask(int width) override {
    const Clock::time_point begin = Clock::now();
    while (control_.wanted() != width) {
      const int before = control_.wanted();
      kill(getpid(), before > width ? SIGUSR1 : SIGUSR2);
      // The next one would be merged with this one if it were sent before this one is read.
      while (control_.wanted() == before) {
        if (Clock::now() - begin > kPatience) throw std::runtime_error("a signal has no effect");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

 private:
  WidthControl& control_;
};

class BySocket final : public WidthRequester {
 public:
  explicit BySocket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const int error = errno;
      close(fd_);
      throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(error)));
    }
  }
  ~BySocket() override { close(fd_); }

  void Ask(int width) override {
    const std::string request = fmt::format(R"({{"request":"set_width","width":{}}})", width);
    std::array<char, 1024> reply;
    const bool sent = send(fd_, request.data(), request.size(), MSG_NOSIGNAL) > 0;
    const ssize_t bytes = sent ? recv(fd_, reply.data(), reply.size(), 0) : -1;
    const std::string_view text(reply.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    if (!text.starts_with(R"({"ok":true)")) {
      throw std::runtime_error(fmt::format("the control socket replies '{}'", text));
    }
  }

 private:
  int fd_;
};

class ByQuota final : public WidthRequester {
 public:
  explicit ByQuota(WidthControl& control) : control_(control), cpus_(AllowedCpus().cpus) {
    control_.SetWidth(control_.most());
    std::vector<std::unique_ptr<WidthSource>> sources;
    sources.push_back(std::make_unique<WidthLimits>(control_));
    watcher_ = std::make_unique<WidthWatcher>(std::move(sources));
  }
  ~ByQuota() override {
    kept_.reset();
    watcher_.reset();
    control_.SetLimit(std::numeric_limits<int>::max());
  }

  void Ask(int width) override {
    kept_.reset();
    const auto count = static_cast<std::size_t>(width);
    if (count >= cpus_.size()) return;
    kept_ = std::make_unique<ProcessOnCpus>(std::span(cpus_).first(count));
    if (!kept_->failure().empty()) throw std::runtime_error(kept_->failure());
  }

 private:
  WidthControl& control_;
  std::vector<int> cpus_;
  std::unique_ptr<ProcessOnCpus> kept_;
  std::unique_ptr<WidthWatcher> watcher_;
};

}  // namespace

std::vector<std::string> RequesterNames() { return {"api", "signal", "socket", "quota"}; }

std::unique_ptr<WidthRequester> MakeRequester(const std::string& name, WidthControl& control,
                                              const std::string& socket_path) {
  if (name == "api") return std::make_unique<ByApi>(control);
  if (name == "signal") return std::make_unique<BySignal>(control);
  if (name == "socket") return std::make_unique<BySocket>(socket_path);
  if (name == "quota") return std::make_unique<ByQuota>(control);
  throw std::invalid_argument("no source is named " + name);
}

}  // namespace topdnn
