// A row of a log, or a problem of topdnn, as a line for benchdnn, oneDNN's benchmark program:
//
//   --conv --dir=FWD_I --stag=acdb --dtag=acdb --attr-post-ops=relu mb2_ic3oc64_ih224oh112kh7sh2...
//
// The line reads back as the same problem (benchdnn_batch.h). Types other than f32 are written as
// benchdnn of oneDNN 3 reads them. A bias of an inference or of another type is written with the
// option --bia-dt, which only recent versions of it read.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_LINE_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_LINE_H_

#include <string>

#include "bench/log/read/trace.h"
#include "bench/log/translate/traced_problem.h"

namespace topdnn {

struct BenchdnnLine {
  std::string text;  // empty: `reason` says why there is no such line
  std::string reason;

  // The line, or a comment with `name` and the reason.
  std::string Printed(const std::string& name) const;
};

// Pure.
BenchdnnLine BenchdnnLineOf(const TraceRow& row);

// The row that a log would have for the problem. Layouts that are missing or opaque are "any" if
// oneDNN chooses them, otherwise row-major. Throws NotTranslated if oneDNN has no such primitive.
TraceRow RowOf(const TracedProblem& problem);

BenchdnnLine BenchdnnLineOf(const TracedProblem& problem);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_LINE_H_
