// Checks whether the OpenMP runtime can start a team. If it cannot, libgomp ends the program, with
// a message that says neither why nor what to do. So a child process tries it first.

#ifndef TOPDNN_BENCH_WORKLOAD_THREAD_TEAM_H_
#define TOPDNN_BENCH_WORKLOAD_THREAD_TEAM_H_

namespace topdnn {

// Throws UsageError, in one line, when a team of `threads` cannot be started: too few processes or
// too little memory are allowed, or an environment variable has an impossible value. Only the first
// call of a process tries: afterwards a team may exist, and a team does not survive a fork.
void CheckTeam(int threads);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_THREAD_TEAM_H_
