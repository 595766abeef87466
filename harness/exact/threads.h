// The threads of a region: workers that were counted, and any that worked uncounted.

#ifndef TOPDNN_HARNESS_EXACT_THREADS_H_
#define TOPDNN_HARNESS_EXACT_THREADS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "harness/exact/context.h"

namespace topdnn {

// Processor time of each thread of the process, ns by thread id.
std::map<int, std::uint64_t> ThreadTimes();

// Begins a region's team; ends it with the contexts of the workers that took part.
void BeginTeam();
std::vector<Context*> EndTeam();

// Notes in `master` whether threads worked since `before` that were not part of a team.
void NoteStrangers(Context* master, const std::map<int, std::uint64_t>& before);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_THREADS_H_
