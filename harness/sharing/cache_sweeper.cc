#include "harness/sharing/cache_sweeper.h"

#include <algorithm>
#include <cstdint>

#include "harness/machine/machine.h"
#include "harness/machine/thread_cpus.h"

namespace topdnn {

namespace {

constexpr std::size_t kLine = 64;

std::size_t BytesFor(std::size_t cache_bytes) {
  const auto memory = static_cast<std::size_t>(std::max<std::int64_t>(AvailableMemory(), 0));
  return std::min(2 * cache_bytes, memory / 4);
}

}  // namespace

CacheSweeper::CacheSweeper(std::size_t cache_bytes) : memory_(BytesFor(cache_bytes)) {}

void CacheSweeper::Sweep(const std::vector<int>& cpus) {
  const ProcessOnCpus there(cpus);
  volatile unsigned char* const bytes = memory_.data();
  for (std::size_t i = 0; i < memory_.size(); i += kLine) bytes[i] = bytes[i] + 1;
}

}  // namespace topdnn
