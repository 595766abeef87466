// A resctrl file system in memory with the kernel's rules, because a plain folder refuses nothing,
// and most machines have no resctrl. The rules and the texts of last_cmd_status are those of Linux
// 6.12, arch/x86/kernel/cpu/resctrl/{rdtgroup,ctrlmondata}.c.

#ifndef TOPDNN_TESTS_RESCTRL_FAKE_RESCTRL_H_
#define TOPDNN_TESTS_RESCTRL_FAKE_RESCTRL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/resctrl/files.h"

namespace topdnn {

struct FakeCache {
  std::uint64_t all = 0xfff;
  int least_bits = 1;
  std::uint64_t shareable = 0;
  int closids = 16;
  bool sparse = false;
  bool has_sparse_file = true;  // kernels before 6.7 have none
};

// What the machine has; the default is a server with two sockets.
struct FakeMachine {
  std::map<std::string, FakeCache> caches = {{"L3", {}}};  // "L3", "L2", "L3CODE" and "L3DATA"
  std::vector<int> domains = {0, 1};
  bool bandwidth = true;
  int least_bandwidth = 10, granularity = 10, bandwidth_closids = 8;
  bool monitor = true;
  int rmids = 32;
  // AMD's assignable counters (mbm_assign_mode is mbm_event): so many of each domain; absent: every
  // group has its own.
  std::optional<int> bandwidth_counters;
  // Arm (MPAM): the memory nodes count the total of bandwidth, and the caches only the occupancy.
  std::vector<int> nodes = {};
  std::set<int> processes = {1, 100, 101, 102};  // that exist
  bool every_process = false;                    // real processes write themselves to `tasks`
};

// What all objects on one machine see.
struct FakeState {
  FakeMachine machine;
  struct Group {
    std::map<std::string, std::map<int, std::uint64_t>> schemata;
    std::set<int> tasks;
    std::map<std::string, std::string> counters;  // "mon_L3_00/llc_occupancy"
    std::set<std::string> assigned;               // "mbm_total_bytes"
  };
  std::map<std::string, Group> groups;  // "" is the root group
  std::string last_status = "ok\n";
  // The errno of the operation on this path, instead of its effect: {"mkdir", EBUSY},
  // {"info/L3/cbm_mask", EACCES}.
  std::map<std::string, int> errors;
  std::map<std::string, std::string> texts;  // instead of the file's content
  std::vector<std::string> writes;           // "PATH: TEXT" in their order

  // `parent` starts the process `child`, which is in the same group.
  void Fork(int parent, int child);
  // The group of a task; "-" if there is none.
  std::string GroupOf(int task) const;
};

std::shared_ptr<FakeState> MakeFakeState(const FakeMachine& machine = {});

class FakeResctrl final : public ResctrlFiles {
 public:
  explicit FakeResctrl(std::shared_ptr<FakeState> state) : state_(std::move(state)) {}

  const std::string& root() const override { return root_; }
  FileText Read(const std::string& path) const override;
  int Write(const std::string& path, const std::string& text) override;
  int Append(const std::string& path, const std::string& text) override {
    return Write(path, text);
  }
  int MakeFolder(const std::string& path) override;
  int RemoveFolder(const std::string& path) override;
  std::vector<std::string> Folders(const std::string& path) const override;

 private:
  FileText InfoText(const std::string& path) const;
  int WriteSchemata(FakeState::Group& group, const std::string& text);
  int WriteTasks(const std::string& name, const std::string& text);
  int WriteLine(const std::string& line, FakeState::Group& staged);
  int WriteMask(const std::string& resource, const std::string& text, std::uint64_t& mask);
  int WriteBandwidth(const std::string& text, std::uint64_t& percent);
  int WriteAssignment(FakeState::Group& group, const std::string& text);
  int Fail(int error, const std::string& status);

  std::shared_ptr<FakeState> state_;
  std::string root_ = "/fake/resctrl";
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_RESCTRL_FAKE_RESCTRL_H_
