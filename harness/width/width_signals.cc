#include "harness/width/width_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace topdnn {

namespace {

constexpr int kStatusOfSignal = 128;  // a shell's status of a signal: this plus its number

sigset_t WidthSignalSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void BlockWidthSignals() {
  const sigset_t set = WidthSignalSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

WidthSignals::WidthSignals(WidthControl& control, std::function<void()> at_once)
    : control_(control), at_once_(std::move(at_once)) {
  const sigset_t set = WidthSignalSet();
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

WidthSignals::~WidthSignals() { close(fd_); }

void WidthSignals::AddTo(std::vector<pollfd>& waits) { waits.push_back({fd_, POLLIN, 0}); }

void WidthSignals::Serve() {
  signalfd_siginfo info;
  while (read(fd_, &info, sizeof info) == sizeof info) Take(static_cast<int>(info.ssi_signo));
}

void WidthSignals::Take(int signal) {
  switch (signal) {
    case SIGUSR1:
      control_.Widen(-1);
      break;
    case SIGUSR2:
      control_.Widen(1);
      break;
    default:
      if (ending_) {
        if (at_once_) at_once_();
        _exit(kStatusOfSignal + signal);
      }
      ending_ = true;
      control_.Stop(signal);
  }
}

}  // namespace topdnn
