#include "kernels/conv/winograd_steps.h"

namespace topdnn {

WinogradSteps WinogradStepsAvx2(int window) { return WinogradStepsOf<8>(window); }

}  // namespace topdnn
