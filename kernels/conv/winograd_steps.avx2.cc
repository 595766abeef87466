#include "kernels/conv/winograd_steps.h"

namespace topdnn {

WinogradSteps WinogradStepsAvx2() { return WinogradStepsOf<8>(); }

}  // namespace topdnn
