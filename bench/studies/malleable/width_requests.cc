#include "bench/studies/malleable/width_requests.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/studies/malleable/control_client.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/thread_cpus.h"
#include "harness/text/errors.h"
#include "harness/width/width_limits.h"
#include "harness/width/width_watcher.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kSignalPatience{20};

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
        if (Clock::now() - begin > kSignalPatience) throw RunFailure("a signal has no effect");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

 private:
  WidthControl& control_;
};

class BySocket final : public WidthRequester {
 public:
  explicit BySocket(const std::string& path) : client_(path) {
    if (!client_.Connect()) throw RunFailure(path + ": the control socket does not accept");
  }

  void Ask(int width) override {
    if (!client_.SetWidth(width)) throw RunFailure(client_.path() + ": nothing can be sent");
    pollfd wait = {.fd = client_.fd(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, std::chrono::milliseconds(kSignalPatience).count());
    const std::optional<std::string> packet = client_.Receive();
    const auto reply = packet ? ParseControlReply(*packet) : std::nullopt;
    if (!reply || !reply->error.empty()) {
      throw RunFailure(fmt::format("{}: width {} is refused: {}", client_.path(), width,
                                   reply ? reply->error : "no valid reply"));
    }
  }

 private:
  ControlClient client_;
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
    if (!kept_->failure().empty()) throw RunFailure(kept_->failure());
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
