#include "tests/bench/program.h"

namespace topdnn {

Outcome RunProgram(const std::vector<std::string>& arguments) {
  std::string command = Quoted(TOPDNN_BINARY_DIR "/topdnn");
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  return RunShell(command);
}

}  // namespace topdnn
