#include "kernels/conv/winograd_steps.h"

namespace topdnn {

WinogradSteps WinogradStepsAvx512(int window) { return WinogradStepsOf<16>(window); }

}  // namespace topdnn
