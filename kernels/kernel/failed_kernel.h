// The replacement of a plug-in's kernel that failed its check. A plan uses it so that the other
// stages still get their operands: another backend computes the result. Its time must not be
// published; each check against the reference reports the failure instead.

#ifndef TOPDNN_KERNELS_KERNEL_FAILED_KERNEL_H_
#define TOPDNN_KERNELS_KERNEL_FAILED_KERNEL_H_

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// Thrown when a kernel that failed its check would compute results. The message is one line.
class KernelFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class FailedKernel : public Kernel {
 public:
  // Operands in the layouts of the request, otherwise row-major.
  FailedKernel(const KernelRequest& request, std::string implementation, std::string reason);

  const std::string& reason() const { return reason_; }

  void Prepare(const std::map<Arg, void*>& memory) override;
  void Run() noexcept override;

 private:
  std::string reason_;
  std::unique_ptr<Kernel> stand_in_;  // nullptr: no backend computes it in these layouts
};

// Why the kernel failed its check; empty for every other kernel.
std::string FailureOf(const Kernel& kernel);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_FAILED_KERNEL_H_
