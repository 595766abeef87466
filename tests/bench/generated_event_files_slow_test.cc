// Generated event files on the command line. (harness/topdown_generated_files_test.cc has 2,000 in
// the reader.)

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/harness/generated_cores.h"
#include "tests/harness/generated_event_files.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(GeneratedEventFileCommand, GivesTheKnownNodes) {
  std::mt19937_64 random(49);
  const TestFolder folder;
  const std::string output = folder.path() / "out.json";
  for (int round = 0; round < 10 && !testing::Test::HasFailure(); ++round) {
    for (const GeneratedCore& core : GeneratedCores()) {
      const FileShape shape = RandomShape(core, random);
      const GeneratedFile file =
          EventFileWriter(shape, random()).Write(RandomCounts(core, shape, random));
      SCOPED_TRACE(Describe(core, shape, file.text));
      const std::string path = folder.Write("events", file.text);
      for (const auto& [group, known] : file.counts) {
        std::vector<std::string> command = {"topdown", "--cpu",  core.cpu, "--events",
                                            path,      "--json", output};
        if (!group.empty()) command.insert(command.end(), {"--group", group});
        const Outcome outcome = RunProgram(command);
        ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
        const nlohmann::json level1 = ReadJson(output)["level1"];
        for (const auto& [node, value] : core.nodes(core.width, known)) {
          ASSERT_TRUE(level1[node].is_number()) << node;
          EXPECT_NEAR(level1[node], value, 1e-9) << node;
        }
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
