#include "tests/bench/program.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace topdnn {

Outcome RunProgram(const std::vector<std::string>& arguments) {
  std::string command = Quoted(TOPDNN_BINARY_DIR "/topdnn");
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  return RunShell(command);
}

nlohmann::json ReadJson(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace topdnn
