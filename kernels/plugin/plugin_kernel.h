// A kernel of a plug-in, in this process.

#ifndef TOPDNN_KERNELS_PLUGIN_PLUGIN_KERNEL_H_
#define TOPDNN_KERNELS_PLUGIN_PLUGIN_KERNEL_H_

#include <map>
#include <memory>
#include <variant>

#include "kernels/kernel/kernel.h"
#include "kernels/plugin/library.h"

namespace topdnn {

class PluginKernel : public Kernel {
 public:
  // Asks the plug-in. Throws KernelFailed when it names a layout that does not exist.
  static std::variant<std::unique_ptr<PluginKernel>, Refusal> Make(const PluginLibrary& plugin,
                                                                   const KernelRequest& request);
  ~PluginKernel() override;

  // Throws KernelFailed with the plug-in's reason.
  void Prepare(const std::map<Arg, void*>& memory) override;
  // Loads the weights if that is due, and computes.
  void Run() noexcept override;
  // The first part of Run. Returns why the plug-in failed, or nullptr.
  const char* LoadIfDue() noexcept;
  // The weights have other values: the plug-in loads them before the next run.
  void WeightsChanged() { loaded_ = false; }

 private:
  PluginKernel(const PluginLibrary& plugin, const KernelRequest& request);

  const topdnn_plugin_table& table_;
  const bool training_;
  void* state_ = nullptr;
  bool loaded_ = false;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_PLUGIN_KERNEL_H_
