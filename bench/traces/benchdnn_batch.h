// Lines for benchdnn, oneDNN's benchmark program, and its batch files: options that stay in force
// for the problems after them, lists of values, comments, further files.
//
//   --conv --dir=FWD_I --dt=f32,bf16 --stag=acdb --dtag=acdb
//   mb1ic3oc64_ih224kh7sh2ph3n"resnet:conv1"
//   --reset --batch=shapes_tails
//
// A file without the driver's option is for the driver whose name its folder has (conv/shapes_1d).
//
// Sources: oneDNN's tests/benchdnn/doc/knobs_common.md and benchdnn_general_info.md, and batch() of
// tests/benchdnn/common.cpp, versions 2.6 and 3.3.

#ifndef TOPDNN_BENCH_TRACES_BENCHDNN_BATCH_H_
#define TOPDNN_BENCH_TRACES_BENCHDNN_BATCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/traces/trace.h"

namespace topdnn {

// Reads a file that a text includes. Throws UsageError if it cannot be read.
using BenchdnnFileReader = std::function<std::string(const std::string& path)>;

inline constexpr std::size_t kMostBenchdnnProblems = 10'000;

// Whether a text is for benchdnn, and not one of topdnn's own problem sets: its first word is an
// option, or a problem without an operation ("conv/n8...") before it.
bool IsBenchdnnText(std::string_view text);

// The rows of a log that the lines describe, each with a count of 1 and without a time. `origin` is
// the path of the text, or what errors call it; `is_file` says which. Throws UsageError with the
// line of an error.
std::vector<TraceRow> ParseBenchdnnText(std::string_view text, const std::string& origin,
                                        bool is_file, const BenchdnnFileReader& reader);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_TRACES_BENCHDNN_BATCH_H_
