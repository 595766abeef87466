// The names of the code that oneDNN generates, from the list that it writes for the profiler perf.

#ifndef TOPDNN_BENCH_PROFILE_GENERATED_CODE_H_
#define TOPDNN_BENCH_PROFILE_GENERATED_CODE_H_

#include <optional>
#include <string>

#include "harness/files/atomic_file.h"

namespace topdnn {

// From its construction oneDNN lists the code that it generates in /tmp/perf-PID.map, if it has not
// generated any before. The destructor removes the list, unless the variable DNNL_JIT_PROFILE asks
// for one anyway. A sudden end of the program (bench/command_line/sudden_end.h) removes it, too.
class GeneratedCode {
 public:
  GeneratedCode();
  ~GeneratedCode();
  GeneratedCode(const GeneratedCode&) = delete;
  GeneratedCode& operator=(const GeneratedCode&) = delete;

  // The list so far: "START SIZE NAME" in hexadecimal, one a line; empty if there is none.
  std::string Names() const;

 private:
  std::string path_;
  std::optional<RemovedFile> own_;  // this object asked for the list
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_GENERATED_CODE_H_
