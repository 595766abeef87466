#include "bench/live/live_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "bench/live/steps.h"

namespace topdnn {

namespace {

double SecondsOf(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// From one time to a later one; 0 if the program wrote anything else.
std::uint64_t Between(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

double MillisecondsOf(const LiveRecord& record) {
  return SecondsOf(Between(record.begin, record.end)) * 1e3;
}

// A task whose oneDNN has no log, and says nothing else, is a row of its kind alone.
std::string LineOfKind(const LiveRecord& record) {
  return fmt::format("onednn_verbose,exec,cpu,{},,undef,,,,,{}\n", record.name,
                     MillisecondsOf(record));
}

// The line that oneDNN 3.12 would have printed for a task, from what it says of it.
std::string LineOfText(const LiveRecord& record, std::string_view text) {
  return fmt::format("onednn_verbose,v1,primitive,exec,{},{}\n", text, MillisecondsOf(record));
}

void AddOnce(std::string_view text, std::vector<std::string>& texts) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.emplace_back(text);
}

// Nodes of the backward pass without the words that all of them have.
std::string_view OperatorName(std::string_view name) {
  constexpr std::string_view kNode = "autograd::engine::evaluate_function: ";
  return name.substr(name.starts_with(kNode) ? kNode.size() : 0);
}

// (the program may write anything, so the number of names is bounded)
LiveOperator& OperatorOf(LiveTrace& live, std::string_view name) {
  const auto found = live.operators.find(name);
  if (found != live.operators.end()) return found->second;
  return live.operators[live.operators.size() < kMostRows ? std::string(name) : "(others)"];
}

std::vector<std::uint32_t> RowsOf(std::span<const LiveExecution> executions) {
  std::vector<std::uint32_t> rows;
  rows.reserve(executions.size());
  for (const LiveExecution& execution : executions) rows.push_back(execution.row);
  return rows;
}

}  // namespace

std::optional<double> LiveRow::Event(std::size_t i) const {
  if (hardware_tasks == 0 || !(running > 0)) return std::nullopt;
  return hardware[i] * enabled / running;
}

void LiveFold::Add(LiveWriter writer, const LiveRecord& record, const LiveTexts& texts) {
  const std::string_view text = texts.text;
  const std::string_view operator_name = OperatorName(texts.operator_name);
  reader_.SetCaller(texts.module, operator_name);
  const auto add_to_operator = [&] {
    if (!reader_.Last() || operator_name.empty()) return;
    OperatorOf(live_, operator_name).primitive_seconds += reader_.Last()->seconds;
  };
  switch (record.kind) {
    case LIVE_TASK:
      AddTask(writer, record, text);
      add_to_operator();
      break;
    case LIVE_OPERATOR: {
      LiveOperator& run = OperatorOf(live_, operator_name);
      ++run.runs;
      run.seconds += SecondsOf(Between(record.begin, record.end));
      break;
    }
    case LIVE_NOTE:
      AddOnce(text, live_.notes);
      break;
    case LIVE_LINE:
      reader_.Add(text);
      if (!reader_.Last() || !text.ends_with('\n')) break;
      add_to_operator();
      ++primitives_;
      ++live_.lines_without_task;
      processes_.try_emplace(writer.process);
      break;
    case LIVE_LIBRARY:
      AddOnce(text, live_.libraries);
      break;
    default:
      break;
  }
}

void LiveFold::AddTask(LiveWriter writer, const LiveRecord& record, std::string_view text) {
  const bool has_line = (record.flags & LIVE_HAS_LINE) != 0;
  ++primitives_;
  ++live_.tasks;
  if (!has_line) ++live_.tasks_without_line;
  Process& process = processes_[writer.process];
  if (process.first == 0) process.first = record.begin;
  process.first = std::min(process.first, record.begin);
  process.last = std::max(process.last, record.end);
  process.gaps += record.gap;
  if (has_line) {
    reader_.Add(text);
    if (!text.ends_with('\n')) reader_.Add("\n");
  } else if (text.starts_with(fmt::format("cpu,{},", record.name))) {
    reader_.Add(LineOfText(record, text));
  } else {
    ++live_.tasks_of_kind;
    reader_.Add(LineOfKind(record));
  }
  const auto last = reader_.Last();
  if (!last) return;
  if (live_.rows.size() <= last->row) live_.rows.resize(last->row + 1);
  LiveRow& row = live_.rows[last->row];
  ++row.tasks;
  if ((record.flags & LIVE_OVERLAPPED) != 0) ++row.overlapped;
  row.seconds += SecondsOf(Between(record.begin, has_line ? record.line : record.end));
  AddCounts(record, row);
  if (executions_ == kMostLiveExecutions) {
    live_.all_executions = false;
    return;
  }
  ++executions_;
  threads_[{writer.process, writer.thread}].push_back(
      {.row = static_cast<std::uint32_t>(last->row),
       .seconds = static_cast<float>(last->seconds),
       .begin = record.begin,
       .end = record.end,
       .gap = static_cast<float>(SecondsOf(record.gap))});
}

void LiveFold::AddCounts(const LiveRecord& record, LiveRow& row) {
  for (std::size_t i = 0; i < row.kernel.size(); ++i) {
    row.kernel[i] += static_cast<double>(record.counts[i]);
  }
  if ((record.flags & LIVE_HARDWARE) != 0) {
    ++row.hardware_tasks;
    row.enabled += static_cast<double>(record.counts[LIVE_ENABLED]);
    row.running += static_cast<double>(record.counts[LIVE_RUNNING]);
    for (std::size_t i = 0; i < row.hardware.size(); ++i) {
      row.hardware[i] += static_cast<double>(record.counts[LIVE_EVENTS + i]);
    }
  }
}

double LiveFold::StepsSoFar() const {
  constexpr std::size_t kLatest = 20'000;  // a millisecond's work
  const std::vector<LiveExecution>* longest = nullptr;
  for (const auto& [writer, executions] : threads_) {
    if (longest == nullptr || executions.size() > longest->size()) longest = &executions;
  }
  if (longest == nullptr) return 0;
  const std::size_t first = longest->size() - std::min(longest->size(), kLatest);
  const std::size_t length = FindSteps(RowsOf(std::span(*longest).subspan(first))).length;
  const std::size_t whole_steps = length == 0 ? 0 : longest->size() / length;
  return static_cast<double>(whole_steps);
}

LiveTrace LiveFold::Finish() {
  live_.trace = reader_.Finish();
  live_.rows.resize(live_.trace.rows.size());
  live_.processes = static_cast<int>(processes_.size());
  for (const auto& [number, process] : processes_) {
    live_.span_seconds += SecondsOf(Between(process.first, process.last));
    live_.between_seconds += SecondsOf(process.gaps);
  }
  if (live_.tasks > 0) {
    live_.trace.between_seconds = live_.between_seconds;
    live_.trace.between_reason.clear();
  }
  for (auto& [writer, executions] : threads_) {
    if (executions.size() > live_.executions.size()) live_.executions = std::move(executions);
  }
  SetSteps(live_);
  return std::exchange(live_, {});
}

void SetSteps(LiveTrace& live) {
  const FoundSteps found = FindSteps(RowsOf(live.executions));
  live.step_length = found.length;
  live.steps.clear();
  for (std::size_t s = 0; s < found.begins.size(); ++s) {
    const std::size_t begin = found.begins[s];
    const std::size_t end = begin + found.length;
    LiveStep step{.begin = begin};
    for (std::size_t i = begin; i < end; ++i) step.primitive_seconds += live.executions[i].seconds;
    const bool followed = s + 1 < found.begins.size() && found.begins[s + 1] == end;
    const std::uint64_t until =
        followed ? live.executions[end].begin : live.executions[end - 1].end;
    step.seconds = SecondsOf(Between(live.executions[begin].begin, until));
    live.steps.push_back(step);
  }
}

LiveTrace OfStep(const LiveTrace& live, std::size_t step) {
  LiveTrace one = live;
  one.rows.assign(live.rows.size(), {});
  for (TraceRow& row : one.trace.rows) {
    row.count = 0;
    row.seconds = 0;
    row.samples.clear();
  }
  one.trace.unfolded = 0;
  one.trace.unfolded_seconds = 0;
  const std::size_t begin = live.steps.at(step).begin;
  one.span_seconds = one.between_seconds = 0;
  for (std::size_t i = begin; i < begin + live.step_length; ++i) {
    const LiveExecution& execution = live.executions[i];
    TraceRow& row = one.trace.rows[execution.row];
    ++row.count;
    row.seconds += execution.seconds;
    row.samples.push_back(execution.seconds);
    if (i > begin) one.between_seconds += execution.gap;
  }
  one.span_seconds = SecondsOf(
      Between(live.executions[begin].begin, live.executions[begin + live.step_length - 1].end));
  std::erase_if(one.trace.rows, [](const TraceRow& row) { return row.count == 0; });
  return one;
}

}  // namespace topdnn
