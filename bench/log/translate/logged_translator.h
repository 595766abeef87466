// A row of a trace as the primitive itself (kernels/logged/), for rows that no other translator can
// express.

#ifndef TOPDNN_BENCH_LOG_TRANSLATE_LOGGED_TRANSLATOR_H_
#define TOPDNN_BENCH_LOG_TRANSLATE_LOGGED_TRANSLATOR_H_

#include "bench/log/translate/traced_problem.h"

namespace topdnn {

// Throws NotTranslated, or std::invalid_argument or std::overflow_error for impossible extents.
TracedProblem LoggedProblemOf(const RowReader& row);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_TRANSLATE_LOGGED_TRANSLATOR_H_
