#include "kernels/conv/winograd_steps.h"

namespace topdnn {

WinogradSteps WinogradStepsAvx512() { return WinogradStepsOf<16>(); }

}  // namespace topdnn
