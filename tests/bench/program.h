// The program under test, run as a user does.

#ifndef TOPDNN_TESTS_BENCH_PROGRAM_H_
#define TOPDNN_TESTS_BENCH_PROGRAM_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/process/child_process.h"

namespace topdnn {

// The program as a word of a shell command. The second one ends after a minute.
std::string QuotedProgram();
std::string BoundedProgram();

// Runs the program with these arguments, in a separate process.
Outcome RunProgram(const std::vector<std::string>& arguments);

// Reads a JSON file. Throws nlohmann::json::exception if it is not JSON.
nlohmann::json ReadJson(const std::filesystem::path& path);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_PROGRAM_H_
