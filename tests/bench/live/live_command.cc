#include "tests/bench/live/live_command.h"

#include <fstream>
#include <iterator>

namespace topdnn {

const std::string kProgram = Quoted(TOPDNN_BINARY_DIR "/topdnn");
const std::string kBounded = "timeout 60 " + kProgram;
const std::string kSample = Quoted(TOPDNN_BINARY_DIR "/tests/live_sample");

std::string TextOf(const nlohmann::json& row, const char* key) {
  return row[key].is_null() ? "" : row[key].get<std::string>();
}

std::map<std::string, int> OperatorsOf(const nlohmann::json& json) {
  std::map<std::string, int> runs;
  for (const nlohmann::json& own : json["live"]["operators"]) runs[own["name"]] = own["runs"];
  return runs;
}

void LiveCommandTest::SetUp() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime must be the first library of the program";
#endif
}

Outcome LiveCommandTest::Run(const std::string& command) const {
  return RunShell("cd " + Quoted(folder_.path().string()) + " && " + command);
}

std::string LiveCommandTest::Text(const std::string& name) const {
  std::ifstream file(folder_.path() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json LiveCommandTest::Result() const { return nlohmann::json::parse(Text("l.json")); }

void LiveCommandTest::MeasureResNet18(const std::string& option) const {
  if (Run("python3 -c 'import torch'").exit_status != 0) {
    GTEST_SKIP() << "Python has no module torch";
  }
  const std::string program =
      "python3 " + Quoted(TOPDNN_SOURCE_DIR "/examples/resnet18.py") + " 2 2 32";
  const Outcome alone = Run(program + " 2> alone.txt");
  const Outcome live = Run(kProgram + " trace --live --no-replay " + option + " --json l.json -- " +
                           program + " 2> table.txt");
  ASSERT_EQ(live.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(live.output, alone.output);
}

Outcome LiveCommandTest::Live(const std::string& command) const {
  return Run("OMP_NUM_THREADS=1 " + kBounded + " trace --live --no-replay --json l.json -- " +
             command);
}

}  // namespace topdnn
