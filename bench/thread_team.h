// Whether the OpenMP runtime can start a team. libgomp ends the program when it cannot, with a
// message that says neither why nor what to do, so a process of its own tries it first.

#ifndef TOPDNN_BENCH_THREAD_TEAM_H_
#define TOPDNN_BENCH_THREAD_TEAM_H_

namespace topdnn {

// Throws UsageError, in one line, when a team of `threads` cannot be started: too few processes or
// too little memory are allowed, or a variable of the environment asks for what cannot be. Only the
// first call of a process tries: afterwards a team may exist, which a fork does not survive.
void CheckTeam(int threads);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_THREAD_TEAM_H_
