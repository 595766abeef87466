// Lengths of time on the command line.

#ifndef TOPDNN_BENCH_COMMAND_LINE_DURATION_H_
#define TOPDNN_BENCH_COMMAND_LINE_DURATION_H_

#include <string>

namespace topdnn {

// Seconds of "90", "90s", "15m", "15min", "1.5h" (above 0, at most a year). Throws UsageError,
// which names the option.
double ParseDuration(const std::string& option, const std::string& text);

// Of a run that takes minutes or more: "42 minutes", "2.5 hours", "3.1 days", "1.2 years".
std::string LongTimeText(double seconds);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_COMMAND_LINE_DURATION_H_
