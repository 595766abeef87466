// Members of a group that take one known resource: the load of a neighbour, and a measure of what
// the others leave of that resource.

#ifndef TOPDNN_HARNESS_SHARING_PROBE_MEMBER_H_
#define TOPDNN_HARNESS_SHARING_PROBE_MEMBER_H_

#include <memory>
#include <string>
#include <vector>

#include "harness/sharing/member.h"

namespace topdnn {

struct ProbeLoad {
  std::string name;  // "llc"
  std::string what;  // one line for the help
};

// What MakeProbeMember offers.
std::vector<ProbeLoad> ProbeLoads();

// `threads` threads repeat the load's probe; an iteration takes about a millisecond. "idle" sleeps.
// Throws InputError for an unknown name, and if this machine lacks the resource.
std::unique_ptr<Member> MakeProbeMember(const std::string& name, int threads);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_PROBE_MEMBER_H_
