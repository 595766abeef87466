#include "harness/resctrl/control_group.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>

#include "harness/files/small_file.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

constexpr std::string_view kPrefix = "topdnn-";
constexpr std::size_t kWord = 40;  // of a text in a message

// The numbers of "7-12-34-5"; none if it has another form.
std::vector<std::uint64_t> NumbersOf(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  for (;;) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc()) return {};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.empty()) return numbers;
    if (text.front() != '-') return {};
    text.remove_prefix(1);
  }
}

std::string FixOf(int error, const std::string& root) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "run topdnn as root";
    case EROFS:
      return fmt::format("mount it writable: `mount -o remount,rw {}`", root);
    case ENOSPC:
      return "the CPU has no free class of service (CLOSID) or RMID: remove other groups, or use "
             "fewer workloads";
    case EBUSY:
      return "another program uses resctrl: try again when it has ended";
    case ESRCH:
      return "the task has ended: run the workload by itself";
    case EINVAL:
      return "use other values";
    default:
      return "look at the kernel's log";
  }
}

// The sum of one counter over the domains of a group that have it: the folders mon_L3_00 of a
// cache, and those of other resources that count, such as memory nodes. `reason`: what the kernel
// says instead of a number.
std::optional<std::uint64_t> SumOf(const ResctrlFiles& files, const std::string& group,
                                   const char* counter, std::string& reason) {
  std::optional<std::uint64_t> sum;
  const std::string data = group + "/mon_data";
  for (const std::string& domain : files.Folders(data)) {
    if (!domain.starts_with("mon_")) continue;
    const FileText file = files.Read(fmt::format("{}/{}/{}", data, domain, counter));
    if (file.error == ENOENT) continue;  // this resource counts something else
    if (file.error != 0) return std::nullopt;
    std::string_view number = file.text;
    if (number.ends_with('\n')) number.remove_suffix(1);
    const auto value = ParseNumber<std::uint64_t>(number);
    if (!value) {
      const std::string word = OneLine(file.text.substr(0, std::min(file.text.find('\n'), kWord)));
      if (reason.empty()) reason = fmt::format("{} of {} is '{}'", counter, domain, word);
      return std::nullopt;
    }
    sum = sum.value_or(0) + *value;
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> StartOfProcess(pid_t process) {
  constexpr std::uint64_t kHidden = 0;
  if (process <= 0) return std::nullopt;
  const std::string text = ReadSmallFile(fmt::format("/proc/{}/stat", process)).text;
  // The name in parentheses may contain anything. After it: the state is field 3.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    const bool runs = kill(process, 0) == 0 || errno != ESRCH;  // /proc may hide others' processes
    return runs ? std::optional(kHidden) : std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t start = kHidden;
  fields >> start;
  return start;
}

std::uint64_t PidNamespace() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool IsStaleGroup(const std::string& name, std::uint64_t pid_namespace, const StartOf& start_of) {
  if (!name.starts_with(kPrefix)) return false;
  const auto numbers = NumbersOf(std::string_view(name).substr(kPrefix.size()));
  constexpr std::uint64_t kMostProcess = 1 << 30;
  if (numbers.size() != 4 || numbers[0] != pid_namespace) return false;
  if (numbers[1] == 0 || numbers[1] > kMostProcess) return false;
  const auto start = start_of(static_cast<pid_t>(numbers[1]));
  return !start || (*start != 0 && *start != numbers[2]);
}

std::vector<std::string> RemoveStaleGroups(ResctrlFiles& files, const StartOf& start_of) {
  std::vector<std::string> removed;
  for (const std::string& name : files.Folders("")) {
    if (!IsStaleGroup(name, PidNamespace(), start_of)) continue;
    const int error = files.RemoveFolder(name);
    if (error == ENOENT) continue;  // another run has removed it
    if (error != 0) {
      throw ResctrlError(fmt::format("{}/{}, which an earlier run left, cannot be removed: {}: {}",
                                     files.root(), name, std::strerror(error),
                                     FixOf(error, files.root())));
    }
    removed.push_back(name);
  }
  return removed;
}

ControlGroup::ControlGroup(ResctrlFiles& files) : files_(files), owner_(getpid()) {
  const std::uint64_t start = StartOfProcess(owner_).value_or(0);
  int error = EEXIST;
  for (int number = 0; error == EEXIST && number < 1000; ++number) {
    name_ = fmt::format("{}{}-{}-{}-{}", kPrefix, PidNamespace(), owner_, start, number);
    error = files_.MakeFolder(name_);
  }
  if (error != 0) Throw("cannot make a group", error);
  AssignCounters();
}

// The machine has fewer counters of bandwidth than groups; a new group may have none (Linux,
// Documentation/filesystems/resctrl.rst: mbm_L3_assignments). Without one, the group has its part
// of the cache all the same.
void ControlGroup::AssignCounters() {
  const auto monitor = ReadMonitor(files_);
  if (!monitor || !monitor->assigned) return;
  for (const char* event : {"mbm_total_bytes", "mbm_local_bytes"}) {
    const auto& features = monitor->features;
    if (std::find(features.begin(), features.end(), event) == features.end()) continue;
    const int error = files_.Write(name_ + "/mbm_L3_assignments", fmt::format("{}:*=e\n", event));
    if (error == 0 || !unassigned_.empty()) continue;
    unassigned_ = fmt::format("no counter could be assigned to {}: {}{}: use fewer groups", event,
                              std::strerror(error), LastStatus(files_));
  }
}

ControlGroup::~ControlGroup() {
  if (getpid() == owner_) files_.RemoveFolder(name_);
}

void ControlGroup::Throw(const std::string& what, int error) const {
  throw ResctrlError(fmt::format("{}: {}: {}{}: {}", files_.root(), what, std::strerror(error),
                                 LastStatus(files_), FixOf(error, files_.root())));
}

Schemata ControlGroup::Set(const Schemata& schemata) {
  const std::string path = name_ + "/schemata";
  const int error = files_.Write(path, SchemataText(schemata));
  if (error != 0) Throw("cannot set " + path, error);
  const FileText file = files_.Read(path);
  const auto now = ParseSchemata(file.text);
  if (file.error != 0 || !now) Throw("cannot read " + path, file.error == 0 ? EIO : file.error);
  for (const auto& [resource, values] : schemata) {
    if (IsBandwidth(resource)) continue;  // the kernel may round it up
    const auto found = now->find(resource);
    bool same = found != now->end();
    for (const auto& [domain, mask] : values) {
      same = same && found->second.contains(domain) && found->second.at(domain) == mask;
    }
    if (!same) {
      throw ResctrlError(
          fmt::format("{}/{}: the masks of {} are not those that were written: "
                      "another program changes them, so end it",
                      files_.root(), path, resource));
    }
  }
  return *now;
}

void ControlGroup::Add(pid_t task) {
  const std::string path = name_ + "/tasks";
  const int error = files_.Append(path, fmt::format("{}\n", task));
  if (error != 0) Throw(fmt::format("cannot add the task {} to {}", task, path), error);
}

GroupReadings ControlGroup::Read() const {
  GroupReadings readings;
  readings.occupancy = SumOf(files_, name_, "llc_occupancy", readings.reason);
  readings.total_bytes = SumOf(files_, name_, "mbm_total_bytes", readings.reason);
  readings.local_bytes = SumOf(files_, name_, "mbm_local_bytes", readings.reason);
  if (!readings.reason.empty() && !unassigned_.empty()) readings.reason = unassigned_;
  return readings;
}

}  // namespace topdnn
