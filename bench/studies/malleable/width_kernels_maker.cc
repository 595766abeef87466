#include "bench/studies/malleable/width_kernels_maker.h"

#include <fmt/format.h>

#include <cstddef>
#include <exception>

#include "harness/text/errors.h"

namespace topdnn {

WidthKernelsMaker::WidthKernelsMaker(const Plan& plan, int most)
    : plan_(plan), widths_(static_cast<std::size_t>(most) + 1), thread_([this] { Make(); }) {}

WidthKernelsMaker::~WidthKernelsMaker() {
  asked_.store(kEnd);
  asked_.notify_one();
  thread_.join();
}

const WidthKernels* WidthKernelsMaker::FindOrAsk(int width) noexcept {
  const Width& wanted = widths_[static_cast<std::size_t>(width)];
  switch (wanted.state.load(std::memory_order_acquire)) {
    case State::kMade:
      return wanted.kernels.get();
    case State::kFailed:
      return nullptr;
    case State::kNone:
      break;
  }
  // If the thread makes another width now, the request is lost; the caller repeats it.
  int nothing = kNothing;
  if (asked_.compare_exchange_strong(nothing, width)) asked_.notify_one();
  return nullptr;
}

const WidthKernels& WidthKernelsMaker::Await(int width) {
  Width& wanted = widths_[static_cast<std::size_t>(width)];
  for (;;) {
    if (const WidthKernels* kernels = FindOrAsk(width)) return *kernels;
    if (wanted.state.load() == State::kFailed) {
      throw RunFailure(fmt::format("no kernels for {} threads: {}", width, wanted.failure));
    }
    const int asked = asked_.load();
    if (asked != kNothing) asked_.wait(asked);
  }
}

void WidthKernelsMaker::Make() {
  for (;;) {
    asked_.wait(kNothing);
    int width = asked_.load();
    if (width == kEnd) return;
    MakeOne(width);
    asked_.compare_exchange_strong(width, kNothing);  // (not if kEnd was stored meanwhile)
    asked_.notify_all();
  }
}

void WidthKernelsMaker::MakeOne(int width) {
  Width& made = widths_[static_cast<std::size_t>(width)];
  if (made.state.load() != State::kNone) return;
  try {
    made.kernels = std::make_unique<WidthKernels>(plan_, width);
    made.state.store(State::kMade, std::memory_order_release);
  } catch (const std::exception& error) {
    made.failure = error.what();
    made.state.store(State::kFailed, std::memory_order_release);
  }
}

std::vector<std::string> WidthKernelsMaker::Failures() const {
  std::vector<std::string> failures;
  for (std::size_t width = 1; width < widths_.size(); ++width) {
    if (widths_[width].state.load(std::memory_order_acquire) != State::kFailed) continue;
    failures.push_back(fmt::format("width {}: {}", width, widths_[width].failure));
  }
  return failures;
}

std::vector<const WidthKernels*> WidthKernelsMaker::All() const {
  std::vector<const WidthKernels*> all;
  for (const Width& width : widths_) {
    if (width.state.load(std::memory_order_acquire) == State::kMade) {
      all.push_back(width.kernels.get());
    }
  }
  return all;
}

}  // namespace topdnn
