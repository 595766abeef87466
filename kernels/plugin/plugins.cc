#include "kernels/plugin/plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/request_error.h"
#include "kernels/plugin/plugin_kernel.h"
#include "kernels/plugin/trial_process.h"

namespace topdnn {

namespace {

using Verdict = TrialAnswer::Verdict;

// A plug-in that does not end in this many trials is not tried again: each takes the full time.
constexpr int kMostTimeouts = 2;

std::vector<PluginLibrary> loaded;

// A plug-in with what its trials answered.
class TriedPlugin {
 public:
  TriedPlugin(PluginLibrary library, std::shared_ptr<TrialProcess> process)
      : library_(std::move(library)), process_(std::move(process)) {}

  KernelOrRefusal Make(const KernelRequest& request) {
    for (const auto& [arg, layout] : request.layouts) {
      if (layout.is_opaque()) {
        return Refusal{fmt::format("plug-in {} cannot read {} in a layout of another library",
                                   library_.name, NameOf(arg))};
      }
    }
    const TrialAnswer offer = Ask(TrialKind::kOffer, request);
    if (offer.verdict != Verdict::kGood) return AnswerFor(offer, request);
    KernelRequest settled = request;
    settled.layouts = LayoutsIn(offer.text, request);
    const TrialAnswer check = Ask(TrialKind::kCheck, settled);
    if (check.verdict != Verdict::kGood) return AnswerFor(check, settled);
    auto made = PluginKernel::Make(library_, settled);
    if (auto* refusal = std::get_if<Refusal>(&made)) return std::move(*refusal);
    return std::get<std::unique_ptr<PluginKernel>>(std::move(made));
  }

 private:
  TrialAnswer Ask(TrialKind kind, const KernelRequest& request) {
    const std::string trial = TrialText(kind, library_.path, request);
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(trial); known != answers_.end()) return known->second;
    if (timeouts_ >= kMostTimeouts) {
      return {Verdict::kTimedOut,
              fmt::format("is not tried again after {} calls that did not end", timeouts_)};
    }
    TrialAnswer answer = process_->Run(trial);
    if (answer.verdict == Verdict::kTimedOut) ++timeouts_;
    answers_[trial] = answer;
    return answer;
  }

  KernelOrRefusal AnswerFor(const TrialAnswer& answer, const KernelRequest& request) const {
    if (answer.verdict == Verdict::kRefused) return Refusal{answer.text};
    return std::make_unique<FailedKernel>(
        request, library_.name, fmt::format("plug-in {}: {}", library_.name, answer.text));
  }

  const PluginLibrary library_;
  const std::shared_ptr<TrialProcess> process_;
  std::mutex mutex_;
  std::map<std::string, TrialAnswer> answers_;  // by trial
  int timeouts_ = 0;
};

PluginLibrary Load(const std::string& path, TrialProcess& process) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw RequestError(fmt::format("--plugin {}: no such file", path));
  }
  const TrialAnswer answer = process.Run(TrialText(TrialKind::kLoad, path, {}));
  if (answer.verdict != Verdict::kGood) {
    const bool named = answer.text.starts_with("--plugin ");
    throw RequestError(named ? answer.text : fmt::format("--plugin {}: {}", path, answer.text));
  }
  return OpenPlugin(path);
}

void Register(const PluginLibrary& library, const std::shared_ptr<TrialProcess>& process) {
  const auto taken = FindVariant(library.name);
  if (taken || library.name == "auto" || library.name == "any") {
    throw RequestError(
        fmt::format("--plugin {}: there is already a backend '{}': give the plug-in "
                    "another name",
                    library.path, library.name));
  }
  const auto plugin = std::make_shared<TriedPlugin>(library, process);
  std::vector<std::string> operations = library.operations;
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  for (const std::string& operation : operations) {
    KernelRegistration(operation, library.name,
                       [plugin](const KernelRequest& request) { return plugin->Make(request); });
  }
  loaded.push_back(library);
}

}  // namespace

void LoadPlugins(const std::vector<std::string>& paths, double most_seconds) {
  std::shared_ptr<TrialProcess> process;
  for (const std::string& path : paths) {
    const bool known = std::any_of(loaded.begin(), loaded.end(), [&](const PluginLibrary& plugin) {
      return plugin.path == path;
    });
    if (known) continue;
    if (process == nullptr) process = std::make_shared<TrialProcess>(most_seconds);
    Register(Load(path, *process), process);
  }
}

const std::vector<PluginLibrary>& Plugins() { return loaded; }

bool IsPlugin(const std::string& backend) {
  return std::any_of(loaded.begin(), loaded.end(),
                     [&](const PluginLibrary& plugin) { return plugin.name == backend; });
}

}  // namespace topdnn
