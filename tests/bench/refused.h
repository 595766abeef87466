// A command line that the program must refuse, for parameterised tests.

#ifndef TOPDNN_TESTS_BENCH_REFUSED_H_
#define TOPDNN_TESTS_BENCH_REFUSED_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace topdnn {

struct RefusedCommand {
  std::vector<std::string> arguments;
  std::string message;  // a part of the message
};

// Prints the arguments. GoogleTest puts them into the names of the tests, which must be the same in
// every run.
void PrintTo(const RefusedCommand& refused, std::ostream* out);

// Runs the program with the arguments. Expects the message in one line, and the status 2.
void ExpectRefused(const RefusedCommand& refused);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_REFUSED_H_
