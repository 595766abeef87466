// The threads of a region: workers that were counted, and any that worked uncounted.

#ifndef TOPDNN_HARNESS_EXACT_THREADS_H_
#define TOPDNN_HARNESS_EXACT_THREADS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "harness/exact/context.h"

namespace topdnn {

// A parallel region's function on its way to the team.
struct TeamCall {
  void (*function)(void*);
  void* data;
};

// A worker's share of a parallel region; its data is a TeamCall.
void RunTeamCall(void* argument);

// Addresses at which a team starts or a share of its work begins: the dispatcher sees to them each
// time. EnterTeam does what is due, and tells where to go on.
void PrepareTeams();
bool IsSpecial(std::uint64_t address) noexcept;
std::uint64_t EnterTeam(Context* context, std::uint64_t address) noexcept;
bool IsTeamRuntime(std::uint64_t address) noexcept;  // in libgomp's code

// Processor time of each thread of the process, ns by thread id.
std::map<int, std::uint64_t> ThreadTimes();

// Begins a region's team; ends it with the contexts of the workers that took part.
void BeginTeam();
std::vector<Context*> EndTeam();

// Notes in `master` whether threads worked since `before` that were not part of a team.
void NoteStrangers(Context* master, const std::map<int, std::uint64_t>& before);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_THREADS_H_
