// `topdnn scale NET`: synchronous data-parallel training over the ranks of mpirun or srun, with the
// time that communication costs.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bench/ranks/transport.h"
#include "bench/workload/workload.h"

namespace topdnn {

struct ScaleOptions {
  WorkloadOptions workload;
  std::string ranks;                 // numbers of ranks, "1,2"; empty: see GroupsOf
  std::string scaling;               // "strong", "weak"; empty: all ranks only
  std::optional<double> bucket_mib;  // on the wire; absent: see BucketBytes
  bool no_overlap = false;
  std::string wire = "f32";  // or "bf16"
  bool predict = false;
  std::int64_t steps = 30;  // timed
  double wait_limit = 120;  // seconds
  std::string json;
  bool quiet = false;

  Wire wire_type() const { return wire == "bf16" ? Wire::kBf16 : Wire::kF32; }
};

// The most bytes of a bucket: --bucket-size, otherwise an eighth of all gradients, at most 25 MiB.
std::int64_t BucketBytes(const ScaleOptions& options, std::int64_t gradient_bytes);

// Measures; rank 0 prints and writes. Returns the exit status. Throws UsageError.
int RunScale(ScaleOptions options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_H_
