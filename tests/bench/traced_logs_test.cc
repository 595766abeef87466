// The logs of modern networks in PyTorch (traces/README.md): every line is read, and nearly all
// time is in primitives that are problems of topdnn's kernels.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include "bench/replay/measured_trace.h"

namespace topdnn {
namespace {

struct Log {
  const char* name;
  std::int64_t primitives;  // lines of the log with ",exec,"
};

void PrintTo(const Log& log, std::ostream* out) { *out << log.name; }

class TracedLogTest : public testing::TestWithParam<Log> {};

TEST_P(TracedLogTest, NearlyAllOfTheTimeIsAProblem) {
  std::ifstream file(std::string(TOPDNN_SOURCE_DIR "/tests/bench/traces/pytorch-onednn2-") +
                         GetParam().name + "-train.log",
                     std::ios::binary);
  ASSERT_TRUE(file);
  TraceReader reader;
  reader.Add(std::string{std::istreambuf_iterator<char>(file), {}});
  const MeasuredTrace trace = TranslateTrace(reader.Finish());
  EXPECT_EQ(trace.trace.damaged_lines + trace.trace.interleaved_lines + trace.trace.text_lines, 0);
  std::int64_t primitives = 0;
  double translated = 0;
  std::string others;
  for (const MeasuredRow& row : trace.rows) {
    primitives += row.row.count;
    if (row.problem) {
      translated += row.row.seconds;
    } else {
      others += row.row.primitive + " " + row.row.problem + ": " + row.reason + "\n";
    }
  }
  EXPECT_EQ(primitives, GetParam().primitives);
  EXPECT_GE(translated, 0.98 * trace.framework_seconds) << others;
}

INSTANTIATE_TEST_SUITE_P(Networks, TracedLogTest,
                         testing::Values(Log{"convnext", 190}, Log{"efficientnet", 980},
                                         Log{"resnet50_bf16", 633}, Log{"detector", 756}));

}  // namespace
}  // namespace topdnn
