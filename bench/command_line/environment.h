// Numbers in environment variables.

#ifndef TOPDNN_BENCH_COMMAND_LINE_ENVIRONMENT_H_
#define TOPDNN_BENCH_COMMAND_LINE_ENVIRONMENT_H_

namespace topdnn {

// The seconds in the variable, or `otherwise` if it is not set. Throws UsageError for what is not a
// number from 0.01 to 86400.
double SecondsInEnvironment(const char* variable, double otherwise);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_ENVIRONMENT_H_
