// What the tests of `topdnn trace --live` share: commands in a folder, and the JSON that they
// write.

#ifndef TOPDNN_TESTS_BENCH_LIVE_LIVE_COMMAND_H_
#define TOPDNN_TESTS_BENCH_LIVE_LIVE_COMMAND_H_

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {

// Quoted paths of topdnn, also with a limit of a minute, and of sample/sample.cc.
extern const std::string kProgram, kBounded, kSample;

// Empty if it is null.
std::string TextOf(const nlohmann::json& row, const char* key);

// The runs of each operator.
std::map<std::string, int> OperatorsOf(const nlohmann::json& json);

class LiveCommandTest : public testing::Test {
 protected:
  void SetUp() override;
  Outcome Run(const std::string& command) const;
  std::string Text(const std::string& name) const;  // of a file
  nlohmann::json Result() const;                    // l.json
  Outcome Live(const std::string& command) const;
  // Two steps of examples/resnet18.py, whose output must be that without topdnn. Skips without
  // torch.
  void MeasureResNet18(const std::string& option) const;

  TestFolder folder_;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_LIVE_LIVE_COMMAND_H_
