// Presents the measurements of a profile: the report with its verdicts, and the tables.

#ifndef TOPDNN_BENCH_PROFILE_PROFILE_REPORT_H_
#define TOPDNN_BENCH_PROFILE_PROFILE_REPORT_H_

#include "bench/profile/measured_profile.h"
#include "bench/profile/profile_options.h"
#include "harness/results/record.h"

namespace topdnn {

// The judged report, with the series of --series.
Report MakeReport(const ProfileOptions& options, const MeasuredProfile& measured);

// Writes the report to the files of the options, then prints the tables on standard output, or on
// standard error if a file is standard output. The files come first: the reader of the tables may
// end early, as `head` does.
void WriteReport(const ProfileOptions& options, const MeasuredProfile& measured,
                 const Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_PROFILE_REPORT_H_
