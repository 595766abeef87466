// The threads of a region: counted workers, and threads that ran without being counted.

#ifndef TOPDNN_HARNESS_EXACT_THREADS_H_
#define TOPDNN_HARNESS_EXACT_THREADS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "harness/exact/context.h"
#include "harness/exact/translated_run.h"

namespace topdnn {

// A parallel region's function and data, as passed to the team.
struct TeamCall {
  void (*function)(void*);
  void* data;
  std::uint64_t entry = 0;  // libgomp's function that starts the team
  std::uint64_t longest =
      0;  // ticks of the thread that worked longest; only if the region is timed
};

// Runs a worker's share of a parallel region; `argument` is a TeamCall.
void RunTeamCall(void* argument);

// Addresses at which a team starts or a worker's share begins. The dispatcher calls EnterTeam at
// each of them, which returns the address to continue at.
void PrepareTeams();
bool IsSpecial(std::uint64_t address) noexcept;
std::uint64_t EnterTeam(Context* context, std::uint64_t address) noexcept;
bool IsTeamRuntime(std::uint64_t address) noexcept;  // whether the address is in libgomp

// While a clock is set, the shares of teams are timed: WaitedForTeams (translated_run.h) is the sum
// over all teams of the time between their start and end in which not even the longest share ran.
// It includes starting the team.
void TimeTeams(std::uint64_t (*clock)() noexcept);

// CPU time of each thread of the process in ns, by thread id.
std::map<int, std::uint64_t> ThreadTimes();

// In a forked child that counts: the parent's threads and their contexts are not this process's.
void ForgetParent();

// BeginTeam starts recording a region's team; EndTeam returns the contexts of its workers.
void BeginTeam();
std::vector<Context*> EndTeam();

// Marks `master` as incomplete if threads outside the team used the CPU since `before`.
void NoteOtherThreads(Context* master, const std::map<int, std::uint64_t>& before);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_THREADS_H_
