// What binds a loop, by the core model (core_model.h). It is a second opinion on a measured time,
// and never a time itself.

#ifndef TOPDNN_HARNESS_HOT_BINDING_H_
#define TOPDNN_HARNESS_HOT_BINDING_H_

#include <string>

namespace topdnn {

struct HotBinding {
  // "FMA", "loads", "chain of 4", "dispatch", "store forwarding", "code lines", ...; two of them,
  // "FMA, loads", if the model's error does not tell which takes more.
  std::string what;
  // How busy it is: its cycles over the measured cycles, at most 1.
  double share = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_BINDING_H_
