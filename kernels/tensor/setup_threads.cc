#include "kernels/tensor/setup_threads.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace topdnn {

std::size_t SetupThreads(std::size_t parts) {
  constexpr std::size_t kMost = 8;
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  return std::min({cpus, kMost, std::max<std::size_t>(parts, 1)});
}

void OnSetupThreads(std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::vector<std::jthread> others;
  others.reserve(threads);
  try {
    while (others.size() + 1 < threads) others.emplace_back(work, others.size() + 1);
  } catch (const std::system_error&) {
    // The process may start no more threads.
  }
  const std::size_t started = others.size() + 1;
  work(0);
  for (std::size_t missing = started; missing < threads; ++missing) work(missing);
}

}  // namespace topdnn
