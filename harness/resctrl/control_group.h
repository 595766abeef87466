// A resctrl group of this process: tasks that have a part of the cache and of the bandwidth.

#ifndef TOPDNN_HARNESS_RESCTRL_CONTROL_GROUP_H_
#define TOPDNN_HARNESS_RESCTRL_CONTROL_GROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/resctrl/capabilities.h"
#include "harness/resctrl/files.h"
#include "harness/resctrl/schemata.h"

namespace topdnn {

// When the process started, in clock ticks since boot (proc_pid_stat(5), field 22); 0: not known.
// Absent if it does not run. The kernel uses the numbers of ended processes again, so a process is
// identified by its number and its start together.
std::optional<std::uint64_t> StartOfProcess(pid_t process);
using StartOf = std::function<std::optional<std::uint64_t>(pid_t)>;

// The inode of this process's PID namespace; 0 if the kernel has no namespaces. The processes of a
// container have numbers of their own, and resctrl has the groups of all containers.
std::uint64_t PidNamespace();
// Whether the group is "topdnn-NAMESPACE-PID-START-N" of this namespace, and its process has ended.
bool IsStaleGroup(const std::string& name, std::uint64_t pid_namespace, const StartOf& start_of);

// Removes the groups that a crash has left in this namespace. Returns their names. Groups with
// other names are never changed. Throws ResctrlError if one cannot be removed.
std::vector<std::string> RemoveStaleGroups(ResctrlFiles& files,
                                           const StartOf& start_of = StartOfProcess);

// Sums over the domains that count it: caches, or memory nodes (Arm). Absent if the machine does
// not count it, or a domain has no value ("Unavailable", "Unassigned", "Error").
struct GroupReadings {
  std::optional<std::uint64_t> occupancy;    // llc_occupancy, bytes
  std::optional<std::uint64_t> total_bytes;  // mbm_total_bytes, since the group was made
  std::optional<std::uint64_t> local_bytes;  // mbm_local_bytes
  std::string reason{};  // why a value is absent that the kernel has a file for; may be empty
};

class ControlGroup {
 public:
  // Makes the group, and assigns counters of bandwidth to it where the kernel needs that. `files`
  // outlives it. Throws ResctrlError with the kernel's reason.
  explicit ControlGroup(ResctrlFiles& files);
  // Removes the group, which moves its tasks to the root group; only in the process that made it.
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  const std::string& name() const { return name_; }
  // Writes these values, and reads them back. Returns what the group now has. Throws ResctrlError
  // if the kernel refuses, or has other masks afterwards.
  Schemata Set(const Schemata& schemata);
  // Adds a task. Threads and processes that it starts later belong to the group, too. Throws
  // ResctrlError.
  void Add(pid_t task);
  GroupReadings Read() const;

 private:
  [[noreturn]] void Throw(const std::string& what, int error) const;
  void AssignCounters();

  ResctrlFiles& files_;
  pid_t owner_;
  std::string name_;
  std::string unassigned_;  // why no counter could be assigned; empty: none was needed
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESCTRL_CONTROL_GROUP_H_
