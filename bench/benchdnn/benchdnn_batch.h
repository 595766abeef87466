// Lines for benchdnn, oneDNN's benchmark program, and its batch files: options that stay in force
// for the problems after them, lists of values, comments, further files.
//
//   --conv --dir=FWD_I --dt=f32,bf16 --stag=acdb --dtag=acdb
//   mb1ic3oc64_ih224kh7sh2ph3n"resnet:conv1"
//   --reset --batch=shapes_tails
//
// If no option names the driver, the folder of the file does (conv/shapes_1d).
//
// Sources: oneDNN's tests/benchdnn/doc/knobs_common.md and benchdnn_general_info.md, and batch() of
// tests/benchdnn/common.cpp, versions 2.6 and 3.3.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_BATCH_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_BATCH_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/log/read/trace.h"

namespace topdnn {

// Reads a file that a text includes. Throws UsageError if it cannot be read.
using BenchdnnFileReader = std::function<std::string(const std::string& path)>;

// The most rows of one text, with its included files: a row takes about a kilobyte.
inline constexpr std::size_t kMostBenchdnnProblems = 250'000;

// A problem that cannot be read, or whose options cannot, with the reason and its place.
struct BenchdnnRefusal {
  std::string problem;
  std::string reason;
};

struct BenchdnnText {
  std::vector<TraceRow> rows;
  std::vector<BenchdnnRefusal> refused;
};

// Whether a text is for benchdnn, and not one of topdnn's own problem sets: its first word is an
// option, the program's name, or a problem without a prefix such as "conv/".
bool IsBenchdnnText(std::string_view text);

// The problems of the text as rows of a log, each with a count of 1 and without a time. `origin` is
// the path of the text if `is_file`, otherwise its name in errors. Throws UsageError, with the line
// number, for an error in the text and for more than kMostBenchdnnProblems rows.
std::vector<TraceRow> ParseBenchdnnText(std::string_view text, const std::string& origin,
                                        bool is_file, const BenchdnnFileReader& reader);
// The same of a file, of which other versions of benchdnn may understand more: an error in a
// problem, or in an option before it, refuses that problem alone. Stops after the first rows.
// Throws UsageError for files that cannot be included, and for too many rows.
BenchdnnText ParseBenchdnnFile(std::string_view text, const std::string& path,
                               const BenchdnnFileReader& reader, std::size_t first);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_BATCH_H_
