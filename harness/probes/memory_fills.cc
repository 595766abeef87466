// What the memory probes read: words, floats, and a cycle of addresses.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "harness/probes/catalogue.h"

namespace topdnn {

namespace {

constexpr int kLine = 64;

// The numbers that are generated; the rest of the working set repeats them. Generating all 512 MiB
// takes four times as long (0.4 s), and half a minute under ThreadSanitizer. A prime number, so
// that the halves of a working set, between which the copy probe copies, differ.
constexpr std::size_t kGenerated = 65521;

void RepeatFirst(ProbeBuffers& b, std::size_t bytes) {
  for (std::size_t at = bytes; at < b.working_set; at += bytes) {
    std::memcpy(b.memory.get() + at, b.memory.get(), std::min(bytes, b.working_set - at));
  }
}

}  // namespace

// Fills with random words. The read probe adds them as integers, whose sums wrap around, so they
// stay exact. Triad adds floats, so it uses PrepareFloats.
void PrepareWords(const Probe&, ProbeBuffers& b, Fill, std::uint64_t seed) {
  std::uint64_t state = seed * 2 + 1;
  const std::size_t generated = std::min(b.working_set, kGenerated * 8);
  for (std::size_t at = 0; at < generated; at += 8) {
    state = state * 6364136223846793005 + 1442695040888963407;  // Knuth, MMIX
    const std::uint64_t words = state >> 7 ^ state << 31;
    std::memcpy(b.memory.get() + at, &words, sizeof words);
  }
  RepeatFirst(b, generated);
  b.position = 0;
}

void PrepareFloats(const Probe&, ProbeBuffers& b, Fill, std::uint64_t seed) {
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2 + 1;
  const std::size_t generated = std::min(b.working_set, kGenerated * 4);
  for (std::size_t at = 0; at < generated; at += 4) {
    state = state * 1664525 + 1013904223;  // Numerical Recipes, chapter 7
    const auto value = static_cast<float>(state >> 24);
    std::memcpy(b.memory.get() + at, &value, sizeof value);
  }
  RepeatFirst(b, generated);
  b.position = 0;
}

// One random cycle through all lines (Sattolo), which no prefetcher can predict.
void PrepareCycle(const Probe&, ProbeBuffers& b, Fill, std::uint64_t seed) {
  std::vector<std::uint32_t> order(b.working_set / kLine);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 generator(seed);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[generator() % i]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::byte* const next = b.memory.get() + std::size_t{order[i]} * kLine;
    std::memcpy(b.memory.get() + i * kLine, &next, sizeof next);
  }
  b.position = 0;
}

}  // namespace topdnn
