#include "bench/command_line/command.h"

int main(int argc, char** argv) { return topdnn::RunCommandLine(argc, argv); }
