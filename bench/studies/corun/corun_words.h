// The words that describe a workload of `topdnn corun`:
//   [cpus LIST] NET train|infer [batch N] [threads N] [backend B] [dtype T] [size N] [cpus LIST]
//   [cpus LIST] probe NAME [threads N] [cpus LIST]
//   [cpus LIST] command PROGRAM ARGUMENT...

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_WORDS_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_WORDS_H_

#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "harness/sharing/cpu_shares.h"

namespace topdnn {

struct CorunWorkload {
  std::string words;        // as given, with single spaces
  WorkloadOptions network;  // of a network
  bool training = false;
  std::string probe;    // its name; empty: no probe
  std::string command;  // for the shell; empty: no command
  CpuWish wish;
};

// Throws UsageError, in one line with the words.
CorunWorkload ParseCorunWords(const std::string& words);

// The workloads of a list like "cnn train,probe dram"; a comma between them, so none of them can
// contain one. Throws UsageError.
std::vector<CorunWorkload> ParseCorunList(const std::string& list);

// "llc: reads from the last cache; ..." for the help.
std::string CorunProbesText();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_WORDS_H_
