#include "tests/bench/program.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace topdnn {

std::string QuotedProgram() { return Quoted(TOPDNN_BINARY_DIR "/topdnn"); }

std::string BoundedProgram() { return "timeout 60 " + QuotedProgram(); }

Outcome RunProgram(const std::vector<std::string>& arguments) {
  std::string command = QuotedProgram();
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  return RunShell(command);
}

nlohmann::json ReadJson(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace topdnn
