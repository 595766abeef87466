// A group of processes that work in windows of time: one of them alone, or several at once. Each is
// a child of this process, and none outlives it or this object.

#ifndef TOPDNN_HARNESS_SHARING_GROUP_H_
#define TOPDNN_HARNESS_SHARING_GROUP_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/measure/watched_run.h"
#include "harness/sharing/member.h"
#include "harness/sharing/shared_pages.h"

namespace topdnn {

struct GroupOptions {
  // A member that takes longer to get ready, or to return after the end of a window, hangs.
  double most_seconds = 300;
  const std::atomic<bool>* cancel = nullptr;  // polled while the group waits
};

// The times of one member in one window: of each iteration, its stages.
struct WindowSamples {
  std::size_t stages = 0;
  std::vector<double> seconds;
  // The share of the window in which the member's main thread was ready to run, but had no CPU.
  // Absent if the kernel does not count it, or the iterations do not run in that thread.
  std::optional<double> waited;

  std::size_t iterations() const { return stages == 0 ? 0 : seconds.size() / stages; }
};

struct WindowOptions {
  std::size_t setting = 0;  // Window::setting
  // From the time at which the members wake up to the start of the window.
  double lead_seconds = 0.005;
};

class Group {
 public:
  // Starts the members' processes. This process must have one thread, since a team of threads does
  // not survive a fork. Throws std::system_error.
  Group(std::vector<MemberPlan> plans, const GroupOptions& options);
  // Ends all members, and the programs that they started.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::size_t size() const { return plans_.size(); }

  // Returns once all members are ready; false if cancelled. Throws RunFailure.
  bool AwaitReady();
  // Of a member that is ready.
  const std::vector<MemberStage>& stages(std::size_t member) const { return stages_[member]; }
  double iteration_seconds(std::size_t member) const;
  const std::string& message(std::size_t member) const { return messages_[member]; }

  // Runs these members for a window; the others sleep. Returns the samples by member; absent if
  // cancelled. Throws RunFailure.
  std::optional<std::vector<WindowSamples>> RunWindow(const std::vector<bool>& active,
                                                      double seconds,
                                                      const WindowOptions& options = {});

 private:
  struct Board;
  struct MemberBoard;

  [[noreturn]] void RunMember(std::size_t member, pid_t owner);
  void Serve(std::size_t member, Member& work);
  std::span<double> MemoryOf(std::size_t member) const;
  void ReadStages(std::size_t member);
  bool Cancelled() const { return IsCancelled(options_.cancel); }
  void EndAll();
  void CheckMembers();
  void CheckCpus() const;
  [[noreturn]] void ThrowEnded(std::size_t member, int status) const;
  // Polls until `done` holds for all members. False: cancelled.
  template <class Done>
  bool Await(const Done& done, GroupClock::time_point since, const char* what);

  std::vector<MemberPlan> plans_;
  GroupOptions options_;
  SharedPages board_pages_;
  SharedPages log_pages_;
  Board* board_;
  std::vector<pid_t> processes_;  // 0: ended
  std::vector<std::vector<MemberStage>> stages_;
  std::vector<std::string> messages_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_GROUP_H_
