// What one process of a group does in its windows of time.

#ifndef TOPDNN_HARNESS_SHARING_MEMBER_H_
#define TOPDNN_HARNESS_SHARING_MEMBER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

// (CLOCK_MONOTONIC, which all processes share)
using GroupClock = std::chrono::steady_clock;

struct Window {
  GroupClock::time_point begin, end;
  // For a member whose work has several kinds; the others ignore it.
  std::size_t setting = 0;
};

// Where a member writes its times: memory that it shares with the group's owner. Iterations beyond
// its capacity are not written.
class IterationLog {
 public:
  explicit IterationLog(std::span<double> memory) : memory_(memory) {}

  // The seconds of each stage of an iteration that began and ended within the window.
  void Add(std::span<const double> stages);
  std::size_t values() const { return used_; }

 private:
  std::span<double> memory_;
  std::size_t used_ = 0;
};

// A stage and its pass, for the tables.
struct MemberStage {
  std::string name;
  std::string pass;
};

// Lives in the member's own process.
class Member {
 public:
  virtual ~Member() = default;
  // The parts of an iteration that are timed. None: the member is never timed.
  virtual std::vector<MemberStage> stages() const = 0;
  // Seconds of one iteration in the warm-up; 0 if not known.
  virtual double iteration_seconds() const { return 0; }
  // For the group's owner, once the member is ready: any bytes.
  virtual std::string message() const { return {}; }
  // Whether the iterations run in the thread that calls Run.
  virtual bool runs_here() const { return true; }
  // Runs until the end of the window. Returns after the iteration in which it ended.
  virtual void Run(const Window& window, IterationLog& log) = 0;
};

// What a member's process may use of its group.
struct MemberPlace {
  std::vector<int> cpus;
  // The process group of a program that the member starts; 0: none. The group's owner ends it.
  std::atomic<int>* program_group = nullptr;
};

struct MemberPlan {
  std::string name;  // for messages
  std::vector<int> cpus;
  // Called in the member's process, on its CPUs. May throw; InputError is about the input.
  std::function<std::unique_ptr<Member>(const MemberPlace&)> make;
};

// Runs `iteration`, which writes the seconds of each stage, from the start to the end of the
// window. The first iteration, which refills the caches, and the one in which the window ends are
// left out.
void RunIterations(const Window& window, std::span<double> seconds,
                   const std::function<void(std::span<double>)>& iteration, IterationLog& log);

// Repeats `iteration` for some time. Returns the median of its seconds.
double WarmUp(const std::function<void()>& iteration);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_MEMBER_H_
