// Runs a region translated, but not counted: to time it on its own data, and with its data in L1
// (redirect.h). The two differ only in the redirected operands, so what translation adds is in
// both.
//
// A redirected region reads its data from the lines and writes its results there, so its results
// are lost, and memory keeps what it held. Only operands that are not redirected, for example what
// integer instructions write, are written as usual.

#ifndef TOPDNN_HARNESS_EXACT_TRANSLATED_RUN_H_
#define TOPDNN_HARNESS_EXACT_TRANSLATED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/exact/instructions/counts.h"
#include "harness/exact/redirect.h"

namespace topdnn {

struct LearnedRegion {
  ExactCounts counts;
  Redirection redirection;
  std::size_t teams = 0;  // that the region starts
};

// Each of these runs function(argument) once and throws std::logic_error if ExactCounter::Probe()
// fails or a count is running.

// Counts a run on its own data and finds the operands to redirect. `tensors`: memory that the
// region uses and that holds no addresses.
LearnedRegion LearnOperands(void (*function)(void*), void* argument,
                            std::span<const std::span<const std::byte>> tensors);

// Counts a run with its data in L1.
ExactCounts CountRedirected(void (*function)(void*), void* argument,
                            const Redirection& redirection);

// Runs it without counting; `redirection` null: on its own data. `clock` times the shares of
// OpenMP teams: see WaitedForTeams. Returns why a part of it ran untranslated; empty: all was
// translated.
std::string RunUncounted(void (*function)(void*), void* argument, const Redirection* redirection,
                         std::uint64_t (*clock)() noexcept);

// In a region that runs uncounted: ticks of `clock` since its start in which a team existed, but
// not even its longest share ran. These are the start of teams and waiting at their end.
std::uint64_t WaitedForTeams() noexcept;

// Ticks of OpenMP teams in such a region since its start. A thread that has no share while another
// works waits for it: while a team exists, for the longest share; otherwise for the calling thread.
struct TeamTicks {
  std::uint64_t teams = 0;   // from the start to the end of each
  std::uint64_t shares = 0;  // summed over the threads of each
};
TeamTicks TimeInTeams() noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_TRANSLATED_RUN_H_
