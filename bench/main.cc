#include "bench/command.h"

int main(int argc, char** argv) { return topdnn::RunCommandLine(argc, argv); }
