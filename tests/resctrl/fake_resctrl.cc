#include "tests/resctrl/fake_resctrl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace topdnn {

namespace {

// The folder and the name: {"topdnn-1-2-0", "schemata"}.
std::pair<std::string, std::string> SplitLast(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool IsNumber(const std::string& text, int base, unsigned long& value) {
  if (text.empty()) return false;
  char* end = nullptr;
  value = std::strtoul(text.c_str(), &end, base);
  return *end == 0;
}

// The first bit of the wanted value, starting at `from`; `length` if there is none.
int FindBit(std::uint64_t mask, bool wanted, int from, int length) {
  for (int bit = from; bit < length; ++bit) {
    if (((mask >> bit) & 1) == (wanted ? 1u : 0u)) return bit;
  }
  return length;
}

FakeState::Group NewGroup(const FakeMachine& machine) {
  FakeState::Group group;
  for (const auto& [name, cache] : machine.caches) {
    for (const int domain : machine.domains) group.schemata[name][domain] = cache.all;
  }
  for (const int domain : machine.domains) {
    if (machine.bandwidth) group.schemata["MB"][domain] = 100;
    if (!machine.monitor) continue;
    const std::string folder = fmt::format("mon_L3_{:02}/", domain);
    const char* const bytes = machine.bandwidth_counters ? "Unassigned\n" : "0\n";
    group.counters[folder + "llc_occupancy"] = "0\n";
    if (!machine.nodes.empty()) continue;
    group.counters[folder + "mbm_total_bytes"] = bytes;
    group.counters[folder + "mbm_local_bytes"] = bytes;
  }
  for (const int node : machine.nodes) {
    group.counters[fmt::format("mon_NODE_{:02}/mbm_total_bytes", node)] = "0\n";
  }
  return group;
}

// As show_doms prints it: names are right-aligned, and so are the values of MB.
std::string ShowSchemata(const FakeState::Group& group) {
  std::string text;
  for (const auto& [resource, values] : group.schemata) {
    std::string line;
    for (const auto& [domain, value] : values) {
      line += line.empty() ? "" : ";";
      line += resource == "MB" ? fmt::format("{}={:4}", domain, value)
                               : fmt::format("{}={:04x}", domain, value);
    }
    text += fmt::format("{:>8}:{}\n", resource, line);
  }
  return text;
}

}  // namespace

void FakeState::Fork(int parent, int child) {
  machine.processes.insert(child);
  groups[GroupOf(parent)].tasks.insert(child);
}

std::string FakeState::GroupOf(int task) const {
  for (const auto& [name, group] : groups) {
    if (group.tasks.contains(task)) return name;
  }
  return "-";
}

std::shared_ptr<FakeState> MakeFakeState(const FakeMachine& machine) {
  auto state = std::make_shared<FakeState>();
  state->machine = machine;
  state->groups[""] = NewGroup(machine);
  state->groups[""].tasks = machine.processes;
  return state;
}

int FakeResctrl::Fail(int error, const std::string& status) {
  state_->last_status = status;
  return error;
}

FileText FakeResctrl::InfoText(const std::string& path) const {
  const auto [folder, name] = SplitLast(path);
  const FakeMachine& machine = state_->machine;
  const auto text = [](const auto& value) { return FileText{0, fmt::format("{}\n", value)}; };
  if (path == "info/last_cmd_status") return {0, state_->last_status};
  if (folder == "info/MB" && machine.bandwidth) {
    if (name == "num_closids") return text(machine.bandwidth_closids);
    if (name == "min_bandwidth") return text(machine.least_bandwidth);
    if (name == "bandwidth_gran") return text(machine.granularity);
  }
  if (folder == "info/L3_MON" && machine.monitor) {
    if (name == "num_rmids") return text(machine.rmids);
    if (name == "mon_features") {
      return {0, machine.nodes.empty() ? "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"
                                       : "llc_occupancy\n"};
    }
    if (name == "mbm_assign_mode" && machine.bandwidth_counters) {
      return {0, "[mbm_event]\ndefault\n"};
    }
  }
  if (folder == "info/NODE_MON" && !machine.nodes.empty()) {
    if (name == "num_rmids") return text(machine.rmids);
    if (name == "mon_features") return {0, "mbm_total_bytes\n"};
  }
  const auto found = machine.caches.find(SplitLast(folder).second);
  if (found == machine.caches.end()) return {ENOENT, ""};
  const FakeCache& cache = found->second;
  if (name == "num_closids") return text(cache.closids);
  if (name == "cbm_mask") return {0, fmt::format("{:x}\n", cache.all)};
  if (name == "min_cbm_bits") return text(cache.least_bits);
  if (name == "shareable_bits") return {0, fmt::format("{:x}\n", cache.shareable)};
  if (name == "sparse_masks" && cache.has_sparse_file) return text(cache.sparse ? 1 : 0);
  return {ENOENT, ""};
}

FileText FakeResctrl::Read(const std::string& path) const {
  if (const auto error = state_->errors.find(path); error != state_->errors.end()) {
    return {error->second, ""};
  }
  if (const auto text = state_->texts.find(path); text != state_->texts.end()) {
    return {0, text->second};
  }
  if (path.starts_with("info/")) return InfoText(path);
  const std::size_t data = path.find("mon_data/");
  const std::string name =
      data == std::string::npos ? SplitLast(path).first : path.substr(0, data == 0 ? 0 : data - 1);
  const auto group = state_->groups.find(name);
  if (group == state_->groups.end()) return {ENOENT, ""};
  if (data != std::string::npos) {
    const auto counter = group->second.counters.find(path.substr(data + 9));
    if (counter == group->second.counters.end()) return {ENOENT, ""};
    return {0, counter->second};
  }
  const std::string file = SplitLast(path).second;
  if (file == "schemata") return {0, ShowSchemata(group->second)};
  if (file != "tasks") return {ENOENT, ""};
  std::string tasks;
  for (const int task : group->second.tasks) tasks += fmt::format("{}\n", task);
  return {0, tasks};
}

int FakeResctrl::Write(const std::string& path, const std::string& text) {
  if (const auto error = state_->errors.find(path); error != state_->errors.end()) {
    return error->second;
  }
  state_->writes.push_back(path + ": " + text);
  const auto [name, file] = SplitLast(path);
  const auto group = state_->groups.find(name);
  if (group == state_->groups.end()) return path.starts_with("info/") ? EACCES : ENOENT;
  if (file == "schemata") return WriteSchemata(group->second, text);
  if (file == "tasks") return WriteTasks(name, text);
  if (file == "mbm_L3_assignments" && state_->machine.bandwidth_counters) {
    return WriteAssignment(group->second, text);
  }
  return EACCES;
}

// mbm_L3_assignments_write, for all domains: "EVENT:*=e".
int FakeResctrl::WriteAssignment(FakeState::Group& group, const std::string& text) {
  const std::string event = text.substr(0, text.find(':'));
  if (text != event + ":*=e\n") return Fail(EINVAL, "Missing event or domain\n");
  if (event != "mbm_total_bytes" && event != "mbm_local_bytes") {
    return Fail(ENOENT, fmt::format("Invalid event {}\n", event));
  }
  if (group.assigned.contains(event)) return 0;
  int used = 0;
  for (const auto& [name, other] : state_->groups) used += static_cast<int>(other.assigned.size());
  if (used >= *state_->machine.bandwidth_counters) {
    return Fail(ENOSPC, fmt::format("Failed to allocate counter for {} in domain {}\n", event,
                                    state_->machine.domains.front()));
  }
  group.assigned.insert(event);
  for (auto& [name, value] : group.counters) {
    if (name.ends_with("/" + event)) value = "0\n";
  }
  return 0;
}

// cbm_validate
int FakeResctrl::WriteMask(const std::string& resource, const std::string& text,
                           std::uint64_t& mask) {
  const FakeCache& cache = state_->machine.caches.at(resource);
  const int length = FindBit(cache.all, false, 0, 64);
  unsigned long value = 0;
  if (!IsNumber(text, 16, value)) {
    return Fail(EINVAL, fmt::format("Non-hex character in the mask {}\n", text));
  }
  if ((cache.least_bits > 0 && value == 0) || value > cache.all) {
    return Fail(EINVAL, "Mask out of range\n");
  }
  const int first = FindBit(value, true, 0, length);
  const int zero = FindBit(value, false, first, length);
  if (!cache.sparse && FindBit(value, true, zero, length) < length) {
    return Fail(EINVAL, fmt::format("The mask {:x} has non-consecutive 1-bits\n", value));
  }
  if (zero - first < cache.least_bits) {
    return Fail(EINVAL, fmt::format("Need at least {} bits in the mask\n", cache.least_bits));
  }
  mask = value;
  return 0;
}

// bw_validate
int FakeResctrl::WriteBandwidth(const std::string& text, std::uint64_t& percent) {
  const FakeMachine& machine = state_->machine;
  unsigned long value = 0;
  if (!IsNumber(text, 10, value)) {
    return Fail(EINVAL, fmt::format("Non-decimal digit in MB value {}\n", text));
  }
  if (value < static_cast<unsigned long>(machine.least_bandwidth) || value > 100) {
    return Fail(EINVAL,
                fmt::format("MB value {} out of range [{},100]\n", value, machine.least_bandwidth));
  }
  const auto step = static_cast<unsigned long>(machine.granularity);
  percent = (value + step - 1) / step * step;
  return 0;
}

// parse_line
int FakeResctrl::WriteLine(const std::string& line, FakeState::Group& staged) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return Fail(EINVAL, "Missing ':'\n");
  const std::string resource = line.substr(0, colon);
  if (colon + 1 == line.size()) return Fail(EINVAL, fmt::format("Missing '{}' value\n", resource));
  if (!staged.schemata.contains(resource)) {
    return Fail(EINVAL, fmt::format("Unknown or unsupported resource name '{}'\n", resource));
  }
  std::istringstream domains(line.substr(colon + 1));
  std::set<unsigned long> seen;
  for (std::string domain; std::getline(domains, domain, ';');) {
    const std::size_t equals = domain.find('=');
    unsigned long number = 0;
    if (equals == std::string::npos || !IsNumber(domain.substr(0, equals), 10, number)) {
      return Fail(EINVAL, "Missing '=' or non-numeric domain\n");
    }
    auto& values = staged.schemata[resource];
    const auto value = values.find(static_cast<int>(number));
    if (value == values.end()) return EINVAL;  // (the kernel gives no reason)
    if (!seen.insert(number).second) {
      return Fail(EINVAL, fmt::format("Duplicate domain {}\n", number));
    }
    const std::string text = domain.substr(equals + 1);
    const int error = resource == "MB" ? WriteBandwidth(text, value->second)
                                       : WriteMask(resource, text, value->second);
    if (error != 0) return error;
  }
  return 0;
}

// rdtgroup_schemata_write: all lines, or none.
int FakeResctrl::WriteSchemata(FakeState::Group& group, const std::string& text) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  state_->last_status = "ok\n";
  FakeState::Group staged = group;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const int error = WriteLine(line, staged); error != 0) return error;
  }
  group = staged;
  return 0;
}

// rdtgroup_tasks_write
int FakeResctrl::WriteTasks(const std::string& name, const std::string& text) {
  state_->last_status = "ok\n";
  unsigned long task = 0;
  const std::string number = text.substr(0, text.find_last_not_of('\n') + 1);
  if (!IsNumber(number, 10, task)) {
    return Fail(EINVAL, fmt::format("Task list parsing error pid {}\n", number));
  }
  const int pid = static_cast<int>(task);
  if (!state_->machine.every_process && !state_->machine.processes.contains(pid)) {
    return Fail(ESRCH, fmt::format("No task {}\n", pid));
  }
  for (auto& [other, group] : state_->groups) group.tasks.erase(pid);
  state_->groups[name].tasks.insert(pid);
  return 0;
}

// rdtgroup_mkdir
int FakeResctrl::MakeFolder(const std::string& path) {
  if (const auto error = state_->errors.find("mkdir"); error != state_->errors.end()) {
    return error->second;
  }
  if (path.find('/') != std::string::npos) return EPERM;
  if (state_->groups.contains(path) || path == "info" || path == "mon_data") return EEXIST;
  state_->last_status = "ok\n";
  int closids = 32;
  for (const auto& [name, cache] : state_->machine.caches) {
    closids = std::min(closids, cache.closids);
  }
  if (state_->machine.bandwidth) closids = std::min(closids, state_->machine.bandwidth_closids);
  if (std::cmp_greater_equal(state_->groups.size(), closids)) {
    return Fail(ENOSPC, "Out of CLOSIDs\n");
  }
  if (state_->machine.monitor &&
      std::cmp_greater_equal(state_->groups.size(), state_->machine.rmids)) {
    return Fail(ENOSPC, "Out of RMIDs\n");
  }
  state_->groups[path] = NewGroup(state_->machine);
  return 0;
}

// rdtgroup_rmdir
int FakeResctrl::RemoveFolder(const std::string& path) {
  if (const auto error = state_->errors.find("rmdir"); error != state_->errors.end()) {
    return error->second;
  }
  const auto group = state_->groups.find(path);
  if (path.empty() || group == state_->groups.end()) {
    return path == "info" || path == "mon_data" ? EPERM : ENOENT;
  }
  state_->groups[""].tasks.insert(group->second.tasks.begin(), group->second.tasks.end());
  state_->groups.erase(group);
  return 0;
}

std::vector<std::string> FakeResctrl::Folders(const std::string& path) const {
  std::set<std::string> names;
  if (path.empty()) {
    names.insert("info");
    for (const auto& [name, group] : state_->groups) {
      if (!name.empty()) names.insert(name);
    }
  }
  if (path == "info" && state_->machine.monitor) {
    names.insert("L3_MON");
    if (!state_->machine.nodes.empty()) names.insert("NODE_MON");
  }
  if (path.ends_with("mon_data")) {
    const std::string name = path == "mon_data" ? "" : SplitLast(path).first;
    const auto group = state_->groups.find(name);
    if (group != state_->groups.end()) {
      for (const auto& [counter, value] : group->second.counters) {
        names.insert(SplitLast(counter).first);
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace topdnn
