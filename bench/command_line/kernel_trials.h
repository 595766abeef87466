// The first run of a library's kernel for a shape, layouts and threads that few programs use: in a
// child process, on memory between guards, with a limit of time. A kernel that crashes, does not
// end, or writes outside of its operands is refused, so that it takes no other result with it. The
// user's cache keeps the answers, by versions of the CPU and of the library.

#ifndef TOPDNN_BENCH_COMMAND_LINE_KERNEL_TRIALS_H_
#define TOPDNN_BENCH_COMMAND_LINE_KERNEL_TRIALS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "bench/command_line/sudden_end.h"
#include "harness/user_cache/cache_folder.h"
#include "kernels/kernel/kernel.h"

namespace topdnn {

class KernelTrials {
 public:
  // `machine`: the CPU and the library, with their versions.
  KernelTrials(CacheFolder cache, std::string machine);
  ~KernelTrials();  // stores what it learned
  KernelTrials(const KernelTrials&) = delete;
  KernelTrials& operator=(const KernelTrials&) = delete;

  // Why the kernel must not run in this process; empty if it may, or if no trial could be made.
  // `only_known`: without a trial.
  std::string WhyNot(const KernelRequest& request, Kernel& kernel, bool only_known = false);
  // The fault of the kernel with this KernelKey (kernels/kernel/registry.h); empty: none is known.
  std::string KnownFault(std::string_view backend, const std::string& key) const;
  bool HasFaults() const { return !faults_.empty() || !faults_here_.empty(); }
  // `store`: in the user's cache, if the kernel is oneDNN's.
  void AddFault(std::string_view backend, const std::string& key, const std::string& reason,
                bool store);

 private:
  void Store();

  const CacheFolder cache_;
  const std::string machine_;
  std::set<std::string> good_;
  std::map<std::string, std::string> faults_;       // reasons
  std::map<std::string, std::string> faults_here_;  // that are not stored
  bool changed_ = false;
};

// Why the kernel must not run: one trial, in a child process. Empty if it may; absent if the trial
// could not be made, or something else ended it. The kernel may take `least_seconds` of CPU time a
// thread besides its work, which a busy machine does not make longer.
std::optional<std::string> TryKernel(const KernelRequest& request, Kernel& kernel,
                                     double least_seconds = 5);

// From now on each kernel of oneDNN, unless in the layouts that oneDNN chooses itself, has a trial
// before MakeKernel (kernels/kernel/registry.h) returns it in this process. A kernel that does not
// work is one line on standard error, once.
void TryKernelsOfLibraries();
// For a command that runs no kernel: only what earlier trials found counts.
void UseKnownTrialsOnly();

// While it exists, a kernel of a plan's stage that crashes or hangs although its trial was good
// starts the program again: the same command line, without this kernel.
class RestartAtSuddenEnd {
 public:
  RestartAtSuddenEnd();

 private:
  AtSuddenEnd restart_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_KERNEL_TRIALS_H_
