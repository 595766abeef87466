// A member of a group that runs a program of the user's: an iteration is one run of it.

#ifndef TOPDNN_HARNESS_SHARING_COMMAND_MEMBER_H_
#define TOPDNN_HARNESS_SHARING_COMMAND_MEMBER_H_

#include <memory>
#include <string>

#include "harness/sharing/member.h"

namespace topdnn {

// Runs `command` with /bin/sh in the member's windows, and starts it again whenever it ends.
// Between the windows its process group is stopped. A run is timed if it begins and ends within one
// window. Its standard output is discarded. Run throws std::runtime_error if a run fails.
std::unique_ptr<Member> MakeCommandMember(const std::string& command, const MemberPlace& place);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_COMMAND_MEMBER_H_
