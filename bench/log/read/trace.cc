#include "bench/log/read/trace.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "bench/log/read/mkldnn_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

// Between two parts of an identity; no log has it.
constexpr char kSeparator = '\x1f';
// Stamps have a resolution of about a microsecond, and times have six digits.
constexpr double kStampError = 1e-5;
constexpr double kTimeError = 5e-6;  // of the time

// What identifies a row: the fields except the operation, the implementation and the time.
std::string IdentityOf(const TraceRow& row) {
  std::string text;
  for (const std::string* part : {&row.primitive, &row.engine, &row.prop_kind, &row.attributes,
                                  &row.auxiliary, &row.problem, &row.module, &row.operator_name}) {
    text += *part;
    text += kSeparator;
  }
  for (const TracedTensor& tensor : row.tensors) {
    text += tensor.Text();
    text += kSeparator;
  }
  return text;
}

}  // namespace

double TraceRow::MedianSeconds() const {
  std::vector<float> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  if (n == 0) return 0;
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

std::int64_t Trace::Primitives() const {
  return std::accumulate(rows.begin(), rows.end(), unfolded,
                         [](std::int64_t sum, const TraceRow& row) { return sum + row.count; });
}

double Trace::FrameworkSeconds() const {
  return std::accumulate(rows.begin(), rows.end(), unfolded_seconds,
                         [](double sum, const TraceRow& row) { return sum + row.seconds; });
}

TraceReader::TraceReader(std::function<void(std::string_view line)> text_line)
    : text_line_(std::move(text_line)) {}

void TraceReader::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (end != std::string_view::npos && pending_.empty() && !pending_long_) {
      AddLine(piece);
    } else {
      if (pending_.size() + piece.size() > kMostLineBytes) {
        pending_long_ = true;
        pending_.clear();
      }
      if (!pending_long_) pending_ += piece;
      if (end == std::string_view::npos) return;
      if (pending_long_) {
        ++trace_.lines;
        ++trace_.long_lines;
      } else {
        AddLine(pending_);
      }
      pending_.clear();
      pending_long_ = false;
    }
    bytes.remove_prefix(end + 1);
  }
}

Trace TraceReader::Finish() {
  if (pending_long_) {
    ++trace_.lines;
    ++trace_.long_lines;
  } else if (!pending_.empty()) {
    const VerboseLine line = ParseVerboseLine(pending_, order_);
    if (line.kind == VerboseKind::kExec || line.kind == VerboseKind::kCreate) {
      ++trace_.lines;
      ++trace_.damaged_lines;
    } else {
      AddLine(pending_);
    }
  }
  pending_.clear();
  AddUntimed();
  if (damaged_between_ > 0) {
    trace_.between_reason = "lines are truncated or damaged: their time is not known";
  } else if (first_start_ && all_stamped_) {
    if (overlap_) {
      trace_.between_reason =
          "calls overlap or are out of order: several threads or processes made them";
    } else {
      trace_.between_seconds = std::max(0.0, *last_end_ - *first_start_ - stamped_seconds_);
    }
  } else if (trace_.Primitives() > 0) {
    trace_.between_reason = "the log has no time stamps: set ONEDNN_VERBOSE_TIMESTAMP=1";
  }
  return std::exchange(trace_, {});
}

void TraceReader::AddLine(std::string_view text) {
  ++trace_.lines;
  last_.reset();
  const VerboseLine line = ParseVerboseLine(text, order_);
  if (line.interleaved) ++trace_.interleaved_lines;
  if (line.kind != VerboseKind::kText &&
      (trace_.dialect.empty() || (line.kind == VerboseKind::kExec && trace_.rows.empty()))) {
    trace_.dialect = line.Dialect();
  }
  switch (line.kind) {
    case VerboseKind::kText:
      ++trace_.text_lines;
      if (text_line_) text_line_(text);
      break;
    case VerboseKind::kInfo:
      AddInfo(line.rest);
      break;
    case VerboseKind::kTemplate:
      if (auto order = VerboseTemplate::Parse(line.rest)) {
        order_ = *std::move(order);
      } else {
        ++trace_.damaged_lines;
      }
      break;
    case VerboseKind::kExec:
      AddStamp(line);
      AddExecution(line);
      break;
    case VerboseKind::kUntimed:
      untimed_bytes_ += text.size();
      if (trace_.rows.empty() && untimed_bytes_ < kMostRowBytes) {
        untimed_.emplace_back(text);
      } else {
        ++trace_.damaged_lines;
      }
      break;
    case VerboseKind::kCreate:
      if (line.nested) break;  // part of another creation
      AddStamp(line);
      ++trace_.created;
      trace_.creation_seconds += line.seconds;
      break;
    case VerboseKind::kGraph:
      ++trace_.graph_lines;
      break;
    case VerboseKind::kOther:
      ++trace_.other_lines;
      break;
    case VerboseKind::kDamaged:
      ++trace_.damaged_lines;
      break;
  }
}

// "oneDNN v2.6.3 (commit N/A)", "cpu,runtime:OpenMP,nthr:2", "cpu,isa:Intel AVX2".
void TraceReader::AddInfo(std::string_view rest) {
  if (trace_.library.empty() && (rest.starts_with("oneDNN ") || rest.starts_with("DNNL "))) {
    trace_.library = Trimmed(rest);
  }
  if (!rest.starts_with("cpu,")) return;
  constexpr std::string_view kIsa = "cpu,isa:";
  if (rest.starts_with(kIsa) && trace_.isa.empty()) trace_.isa = Trimmed(rest.substr(kIsa.size()));
  constexpr std::string_view kThreads = ",nthr:";
  const std::size_t at = rest.find(kThreads);
  if (at == std::string_view::npos || trace_.threads) return;
  const std::string_view digits = rest.substr(at + kThreads.size());
  int threads = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), threads);
  if (error == std::errc() && threads > 0) trace_.threads = threads;
}

void TraceReader::AddStamp(const VerboseLine& line) {
  if (!line.stamp) {
    all_stamped_ = false;
    return;
  }
  if (!first_start_) damaged_before_ = trace_.damaged_lines;
  damaged_between_ = trace_.damaged_lines - damaged_before_;
  const double end = *line.stamp + line.seconds;
  first_start_ = std::min(first_start_.value_or(*line.stamp), *line.stamp);
  // (a line is printed at the end of its call)
  overlap_ |= last_end_ && *line.stamp < *last_end_ - last_error_;
  if (end >= last_end_.value_or(end)) {
    last_end_ = end;
    last_error_ = kStampError + kTimeError * line.seconds;
  }
  stamped_seconds_ += line.seconds;
}

void TraceReader::AddUntimed() {
  if (trace_.rows.empty() && !untimed_.empty()) {
    trace_.has_times = false;
    for (const std::string& text : untimed_) {
      const VerboseLine line = ParseVerboseLine(text, order_);
      if (trace_.rows.empty()) trace_.dialect = line.Dialect();
      AddExecution(line, /*timed=*/false);
    }
  } else {
    trace_.damaged_lines += static_cast<std::int64_t>(untimed_.size());
  }
  untimed_.clear();
}

void TraceReader::AddExecution(const VerboseLine& line, bool timed) {
  const std::optional<std::size_t> index = RowOf(line);
  if (!index) {
    ++trace_.unfolded;
    trace_.unfolded_seconds += line.seconds;
    return;
  }
  TraceRow& row = trace_.rows[*index];
  ++row.count;
  row.seconds += line.seconds;
  last_ = {*index, line.seconds};
  if (timed && row.samples.size() < kMostTraceSamples) {
    row.samples.push_back(static_cast<float>(line.seconds));
  }
}

std::optional<std::size_t> TraceReader::RowOf(const VerboseLine& line) {
  key_ = module_ + kSeparator + operator_name_ + kSeparator;
  for (std::size_t i = 0; i < kVerboseFields; ++i) {
    if (i == static_cast<std::size_t>(VerboseField::kOperation)) continue;
    if (i == static_cast<std::size_t>(VerboseField::kTime)) continue;
    key_ += line.fields[i];
    key_ += kSeparator;
  }
  if (const auto known = by_text_.find(key_); known != by_text_.end()) return known->second;
  // The texts of the row, and of the two keys.
  constexpr std::size_t kCopies = 3;
  if (by_text_.size() == kMostRows) return std::nullopt;
  if (row_bytes_ + kCopies * key_.size() > kMostRowBytes) return std::nullopt;
  row_bytes_ += kCopies * key_.size();
  TraceRow row;
  row.order = trace_.rows.size();
  row.primitive = line[VerboseField::kPrimitive];
  row.engine = line[VerboseField::kEngine];
  row.prop_kind = line[VerboseField::kPropKind];
  row.tensors = ParseTracedTensors(line[VerboseField::kTensors]);
  row.attributes = EssentialAttributes(line[VerboseField::kAttributes]);
  row.auxiliary = Trimmed(line[VerboseField::kAuxiliary]);
  row.problem = CurrentProblem(row.primitive, line[VerboseField::kProblem]);
  row.module = module_;
  row.operator_name = operator_name_;
  row.implementation = line[VerboseField::kImplementation];
  if (line.has_formats) {
    row.tensors = ParseTracedTensors(
        TensorsOfMkldnn(line[VerboseField::kTensors], line[VerboseField::kImplementation]));
    row.auxiliary = AuxiliaryOfMkldnn(row.auxiliary);
    row.problem = ProblemOfMkldnn(row.primitive, row.problem);
  }
  const auto [entry, added] = by_identity_.emplace(IdentityOf(row), trace_.rows.size());
  by_text_.emplace(key_, entry->second);
  if (added) {
    trace_.rows.push_back(std::move(row));
  } else if (std::string& name = trace_.rows[entry->second].implementation;
             name != row.implementation && !name.ends_with(" ...")) {
    name += " ...";
  }
  return entry->second;
}

}  // namespace topdnn
