// The drivers of benchdnn: their options with the defaults, and the row of a log that one choice of
// options and a problem describe.
//
// Sources: oneDNN's tests/benchdnn/doc/driver_*.md, knobs_attr.md, knobs_dir.md and knobs_tag.md,
// and the settings in tests/benchdnn/*/*.hpp, versions 2.6 and 3.3.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_DRIVERS_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_DRIVERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/benchdnn_rows.h"
#include "bench/log/read/trace.h"

namespace topdnn {

struct BenchdnnOption {
  std::string_view name;   // "stag"
  std::string_view value;  // the default
};

struct BenchdnnDriver {
  std::string_view name;       // "conv"
  std::string_view primitive;  // "convolution"
  std::vector<BenchdnnOption> options;
  // Throws BenchdnnError. nullptr: topdnn has no kernels for the primitive, and its options are
  // not read.
  TraceRow (*row)(const BenchdnnChoice& choice, std::string_view problem);

  // Whether the name is one of its own options.
  bool Has(std::string_view option) const;
};

// nullptr for an unknown name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
std::vector<std::string> BenchdnnDriverNames();

// The options that every driver has: the attributes, which are not set by default.
const std::vector<BenchdnnOption>& BenchdnnCommonOptions();

// The row of the log; with an unread problem for a driver without `row`. Throws BenchdnnError.
TraceRow BenchdnnRow(const BenchdnnDriver& driver, const BenchdnnChoice& choice,
                     std::string_view problem);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_DRIVERS_H_
