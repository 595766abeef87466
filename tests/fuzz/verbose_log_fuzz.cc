// A libFuzzer target (https://llvm.org/docs/LibFuzzer.html): arbitrary bytes as a log of oneDNN.
// The reader must read them in pieces, and every row must become a problem or a reason. An
// exception is a finding, and so is exceeding libFuzzer's limits of memory and time.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "bench/log/read/trace.h"
#include "bench/log/translate/traced_problem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kPiece = 1000;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  topdnn::TraceReader reader;
  while (!rest.empty()) {
    reader.Add(rest.substr(0, kPiece));
    rest.remove_prefix(rest.size() < kPiece ? rest.size() : kPiece);
  }
  const topdnn::Trace trace = reader.Finish();
  for (const topdnn::TraceRow& row : trace.rows) {
    const auto problem = topdnn::ProblemOf(row);
    const auto* found = std::get_if<topdnn::TracedProblem>(&problem);
    if (found != nullptr) static_cast<void>(found->op->Problem());
  }
  return 0;
}
