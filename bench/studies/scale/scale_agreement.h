// What the ranks of a data-parallel run must have in common, and how they refuse together.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_AGREEMENT_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_AGREEMENT_H_

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "bench/ranks/transport.h"

namespace topdnn {

// A rank, as it describes itself to the others.
struct RankIdentity {
  std::string host;
  std::vector<int> cpus;                                  // that the rank may run on
  int threads = 1;                                        // of the rank
  std::vector<std::pair<std::string, std::string>> same;  // name and value, equal on all ranks
};

// The node's CPUs that are online.
int CpusOfNode();

// CPU, libraries, build, and the command line of this process.
RankIdentity DescribeRank(int threads);

// Which rank differs from rank 0, in what, and the fix: one line, or empty. Pure.
std::string DifferenceOf(const std::vector<RankIdentity>& ranks);

// Why the threads of the ranks share CPUs: one line, or empty. Pure.
std::string OversubscriptionOf(const std::vector<RankIdentity>& ranks);

// The ranks end together. Only rank 0 has a message: one line.
struct Refused {
  int status = 0;
  std::string message{};
};

// Exchanges the identities. Every rank calls this after its setup; `failure` is the exception that
// ended the setup, or null. Throws Refused if a rank has failed, which the message names, or if
// ranks differ.
std::vector<RankIdentity> Agree(Transport& transport, const RankIdentity& own,
                                const std::exception_ptr& failure);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_AGREEMENT_H_
