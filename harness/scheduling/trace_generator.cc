#include "harness/scheduling/trace_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "harness/text/errors.h"

namespace topdnn {

namespace {

using Random = std::mt19937_64;

// Uniform in [0, 2^32).
std::uint64_t Uniform32(Random& random) { return random() >> 32; }

// Uniform in [0, count), with a bias below count / 2^32.
std::uint64_t Below(Random& random, std::uint64_t count) { return Uniform32(random) * count >> 32; }

// Exponential with mean 1, in units of 2^-32. It uses only comparisons (von Neumann, "Various
// techniques used in connection with random digits", 1951), because libraries round logarithms
// differently. It draws runs of falling uniform numbers. The first run of odd length is accepted,
// and its first number is the fraction; each rejected run adds 1.
std::uint64_t Exponential32(Random& random) {
  for (std::uint64_t whole = 0;; ++whole) {
    const std::uint64_t first = Uniform32(random);
    std::uint64_t last = first;
    int length = 1;
    for (std::uint64_t next = Uniform32(random); next < last; next = Uniform32(random)) {
      last = next;
      ++length;
    }
    if (length % 2 == 1) return (whole << 32) + first;
  }
}

}  // namespace

std::vector<TraceJob> GenerateTrace(const TraceSettings& settings,
                                    std::span<const NominalJob> kinds) {
  Random random(settings.seed);
  const auto mean = static_cast<std::uint64_t>(settings.mean_milliseconds);
  // Microseconds between arrivals.
  const std::uint64_t between = std::max<std::uint64_t>(
      mean * 1000 * 100 /
          static_cast<std::uint64_t>(std::max(settings.load_percent, 1) * settings.cpus),
      1);
  std::vector<TraceJob> jobs;
  std::uint64_t arrival = 0;  // microseconds
  for (int i = 0; i < settings.jobs; ++i) {
    const NominalJob& kind = kinds[Below(random, kinds.size())];
    // (no overflow: an exponential number above 2^8 has a probability below 10^-100)
    const std::uint64_t gap = (Exponential32(random) >> 12) * between >> 20;
    if (i > 0) arrival += gap;
    if (static_cast<double>(arrival) > 1e6 * kLastArrival) {
      throw InputError(fmt::format(
          "job {} of {} arrives after more than {:.0f} s: take fewer jobs, or a higher load", i + 1,
          settings.jobs, kLastArrival));
    }
    const std::uint64_t work = mean * 500 + Below(random, mean * 1000);  // microseconds
    const int wide = 1 << Below(random, 4);
    const std::uint64_t arrival_milliseconds = arrival / 1000;
    const bool urgent = Below(random, 4) == 0;
    jobs.push_back({.network = std::string(kind.network),
                    .training = kind.training,
                    .batch = kind.batch,
                    .steps = static_cast<std::int64_t>(std::max<std::uint64_t>(
                        work / static_cast<std::uint64_t>(kind.step_microseconds), 1)),
                    .arrival = static_cast<double>(arrival_milliseconds) / 1000,
                    .priority = urgent ? 1 : 0,
                    .min_width = 1,
                    .max_width = std::min(wide, settings.cpus)});
  }
  return jobs;
}

}  // namespace topdnn
