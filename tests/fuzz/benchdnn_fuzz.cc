// A libFuzzer target: arbitrary bytes as a batch file for benchdnn. The file is refused, or every
// row becomes a problem or a reason. If a row has a line, the line reads back as one row. Another
// exception is a finding, and so is exceeding libFuzzer's limits of memory and time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/benchdnn/benchdnn_batch.h"
#include "bench/benchdnn/benchdnn_line.h"
#include "bench/command_line/command.h"
#include "bench/log/translate/traced_problem.h"

namespace {

std::string NoFile(const std::string& path) { throw topdnn::UsageError(path); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(topdnn::IsBenchdnnText(text));
  std::vector<topdnn::TraceRow> rows;
  try {
    rows = topdnn::ParseBenchdnnText(text, "conv/fuzzed", /*is_file=*/true, NoFile);
  } catch (const topdnn::UsageError&) {
    return 0;
  }
  constexpr std::size_t kMostRows = 50;
  rows.resize(std::min(rows.size(), kMostRows));
  for (const topdnn::TraceRow& row : rows) {
    const auto problem = topdnn::ProblemOf(row);
    const auto* found = std::get_if<topdnn::TracedProblem>(&problem);
    if (found != nullptr) static_cast<void>(found->op->Problem());
    const topdnn::BenchdnnLine line = topdnn::BenchdnnLineOf(row);
    if (line.text.empty()) continue;
    if (topdnn::ParseBenchdnnText(line.text, "line", /*is_file=*/false, NoFile).size() != 1) {
      std::abort();
    }
  }
  return 0;
}
