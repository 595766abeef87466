// What a log of oneDNN says: the primitives that a program executed. Equal primitives are one row.
//
// The log is folded while it is read, because it may be larger than memory. Lines that cannot be
// read are counted, and never stop the reading: logs are truncated, and processes that share a file
// interrupt each other's lines.

#ifndef TOPDNN_BENCH_LOG_READ_TRACE_H_
#define TOPDNN_BENCH_LOG_READ_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/log/read/traced_tensor.h"
#include "bench/log/read/verbose_line.h"

namespace topdnn {

// Equal executions: the same primitive, propagation, tensors, attributes, problem, module and
// operator.
struct TraceRow {
  std::string primitive;
  std::string engine;
  std::string prop_kind;  // "undef" if the primitive has none
  std::vector<TracedTensor> tensors;
  std::string attributes;  // EssentialAttributes
  std::string auxiliary;   // alg:convolution_direct
  std::string problem;
  // Of the framework, if they are known; the log does not name them.
  std::string module, operator_name;
  std::string implementation;  // of the first execution; with "..." if others differ
  std::size_t order = 0;       // among the rows, by the first execution
  std::int64_t count = 0;
  double seconds = 0;          // sum over all executions; 0 without `samples`
  std::vector<float> samples;  // seconds of the first executions, at most kMostTraceSamples

  // Of the samples.
  double MedianSeconds() const;
};

inline constexpr std::size_t kMostTraceSamples = 1'000;

struct Trace {
  std::string dialect;         // "onednn_verbose,v1,primitive"; of the first line
  std::string library;         // "oneDNN v2.6.3 (commit N/A)"; empty if the log has no such line
  std::string isa;             // as the library calls it
  std::optional<int> threads;  // of the library

  std::int64_t lines = 0;
  std::int64_t text_lines = 0;         // not oneDNN's
  std::int64_t graph_lines = 0;        // of the graph API: their primitives have own lines
  std::int64_t other_lines = 0;        // checks, dispatching, errors
  std::int64_t damaged_lines = 0;      // truncated, or without a time
  std::int64_t interleaved_lines = 0;  // interrupted by a line of another process
  std::int64_t long_lines = 0;         // longer than kMostLineBytes
  std::int64_t created = 0;            // primitives that were created, not counting nested ones
  double creation_seconds = 0;

  bool has_times = true;       // false: no line has one
  std::vector<TraceRow> rows;  // by the place of the first execution
  // Executions of further primitives, after kMostRows rows or kMostRowBytes of their texts.
  std::int64_t unfolded = 0;
  double unfolded_seconds = 0;

  std::int64_t Primitives() const;  // executions
  double FrameworkSeconds() const;  // of all executions
  // Time from the first to the last stamped call in which no primitive ran or was created. Absent
  // without stamps, and with `between_reason` if any two calls overlap.
  std::optional<double> between_seconds;
  std::string between_reason;
};

inline constexpr std::size_t kMostLineBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMostRows = 10'000;
inline constexpr std::size_t kMostRowBytes = std::size_t{32} << 20;

class TraceReader {
 public:
  // `text_line` gets each line that is not oneDNN's, without its newline; may be empty.
  explicit TraceReader(std::function<void(std::string_view line)> text_line = {});

  // The next bytes of the log.
  void Add(std::string_view bytes);
  // The module and the operator whose executions the next lines are.
  void SetCaller(std::string_view module, std::string_view operator_name) {
    module_ = module;
    operator_name_ = operator_name;
  }
  // What is read so far.
  const Trace& SoFar() const { return trace_; }
  // The row and the seconds of the last complete line, if it is an execution and is folded.
  struct Execution {
    std::size_t row = 0;
    double seconds = 0;
  };
  const std::optional<Execution>& Last() const { return last_; }
  // The end of the log. A last line without a newline is damaged: its time may be incomplete.
  Trace Finish();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  void AddLine(std::string_view text);
  void AddInfo(std::string_view rest);
  void AddExecution(const VerboseLine& line, bool timed = true);
  void AddUntimed();
  void AddStamp(const VerboseLine& line);
  // The index of the row, or nothing if there are too many.
  std::optional<std::size_t> RowOf(const VerboseLine& line);

  std::function<void(std::string_view)> text_line_;
  Trace trace_;
  std::optional<Execution> last_;
  VerboseTemplate order_;
  std::string pending_;        // the line that is not complete yet
  bool pending_long_ = false;  // it is too long; its bytes are dropped
  // From the fields of a line, and from what identifies a row, to the row.
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> by_text_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> by_identity_;
  // Lines without a time. If any line has one, these are truncated, otherwise they are the log.
  std::vector<std::string> untimed_;
  std::size_t untimed_bytes_ = 0;
  std::string key_;  // of the current line
  std::string module_, operator_name_;
  std::size_t row_bytes_ = 0;
  // Of the stamped calls.
  std::optional<double> first_start_, last_end_;
  double last_error_ = 0;  // of last_end_
  bool overlap_ = false;
  // Damaged lines before the first line with a stamp, and from there to the last one.
  std::int64_t damaged_before_ = 0, damaged_between_ = 0;
  double stamped_seconds_ = 0;
  bool all_stamped_ = true;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_TRACE_H_
