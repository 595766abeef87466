// The first use of a plug-in's code, in a process that exists for it alone. It ends with an
// answer, whatever the code does: the process may crash, run out of time, or end early.

#ifndef TOPDNN_KERNELS_PLUGIN_TRIAL_H_
#define TOPDNN_KERNELS_PLUGIN_TRIAL_H_

#include <string>
#include <string_view>

#include "kernels/kernel/kernel.h"

namespace topdnn {

// The answer of a trial.
struct TrialAnswer {
  enum class Verdict {
    kGood,     // `text`: the layouts of the operands, for kOffer
    kRefused,  // `text`: the plug-in's reason
    kFailed,   // `text`: what it did wrong
    kTimedOut,
  };
  Verdict verdict = Verdict::kFailed;
  std::string text;
};

enum class TrialKind {
  kLoad,   // the library loads, and its table is valid
  kOffer,  // `create`
  kCheck,  // a run on fenced memory, compared with the reference
};

// A trial as text, for another process. `request` is not used by kLoad.
std::string TrialText(TrialKind kind, const std::string& library, const KernelRequest& request);

// Runs the trial, and writes its answer to the file descriptor. For a process that ends
// afterwards: a signal handler writes the answer of code that crashes.
void RunTrial(const std::string& trial, double most_seconds, int answer);

// The text that RunTrial writes.
std::string AnswerText(const TrialAnswer& answer);
// False for an incomplete text.
bool ParseAnswer(std::string_view text, TrialAnswer& answer);

// The layouts in the text of a good offer, for the request's operands.
std::map<Arg, Layout> LayoutsIn(const std::string& text, const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLUGIN_TRIAL_H_
