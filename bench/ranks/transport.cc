#include "bench/ranks/transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "harness/text/errors.h"

namespace topdnn {

namespace {

class SoleRank final : public Transport {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  std::string library() const override { return "none (one rank)"; }
  void ChooseGroup(int /*ranks*/) override {}
  void BeginSum(int, void*, std::int64_t, Wire) override {}
  bool IsFinished(int /*request*/) override { return true; }
  void Sum(std::span<double> /*values*/) override {}
  void Barrier() override {}
  std::vector<std::string> Gather(const std::string& text) override { return {text}; }
  void Abort(int status) override { std::_Exit(status); }
};

// "rank 1, 3"; "another rank" for none.
std::string NamesOf(const std::vector<int>& ranks) {
  if (ranks.empty()) return "another rank";
  return fmt::format("rank {}", fmt::join(ranks, ", "));
}

}  // namespace

std::int64_t BytesOf(Wire wire) { return wire == Wire::kF32 ? 4 : 2; }

void Transport::Wait(int request) {
  WaitUntil([this, request] { return IsFinished(request); });
}

void Transport::WaitUntil(const std::function<bool()>& finished, bool sleeps) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTestsPerCheck = 1000;  // of the clock
  const Clock::time_point begin = Clock::now();
  for (std::int64_t tests = 1; !finished(); ++tests) {
    if (sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (sleeps || tests % kTestsPerCheck != 0) continue;
    if (std::chrono::duration<double>(Clock::now() - begin).count() < limit_) continue;
    throw RunFailure(
        fmt::format("has waited {:.3g} s for {}, which hangs or is slow; look at its process, or "
                    "give a longer --wait-limit",
                    limit_, NamesOf(Absent())));
  }
}

std::unique_ptr<Transport> MakeSoleRank() { return std::make_unique<SoleRank>(); }

}  // namespace topdnn
