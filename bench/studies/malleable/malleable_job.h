// `topdnn malleable NET --steps N`: runs steps at the width that others ask for.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_JOB_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_JOB_H_

#include "bench/studies/malleable/malleable_setup.h"

namespace topdnn {

// Returns the exit status. Throws UsageError.
int RunMalleableJob(MalleableOptions options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_JOB_H_
