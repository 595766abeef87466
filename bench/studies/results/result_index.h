// The SQLite index of a store of results: a table of the results, and one of their stages. It
// follows the files: each time that it is opened, runs that were added or changed since are read
// again.

#ifndef TOPDNN_BENCH_STUDIES_RESULTS_RESULT_INDEX_H_
#define TOPDNN_BENCH_STUDIES_RESULTS_RESULT_INDEX_H_

#include <string>

#include "bench/formats/database.h"
#include "bench/studies/results/result_store.h"

namespace topdnn {

class ResultIndex {
 public:
  // Opens the index and brings it up to date. If it is missing, it is made. If it is damaged or of
  // another version, it is made again. If it cannot be written or another process holds it, an
  // index in memory is used. In the last two cases `notice()` says so.
  explicit ResultIndex(const ResultStore& store);
  // Makes the index again from the files. Throws WriteError if it cannot be written.
  static void Rebuild(const ResultStore& store);

  // One line; empty if all is well.
  const std::string& notice() const { return notice_; }
  // Every result, oldest first: id, stored_at, kind, network, mode, batch, dtype, threads,
  // step_seconds, status, problem. A result that cannot be read has a problem, and NULL elsewhere.
  DatabaseTable List();
  // Runs a statement that only reads. Throws UsageError for any other, and for a mistake in it.
  DatabaseTable Query(const std::string& sql);

 private:
  std::string notice_;  // before database_, whose construction writes it
  Database database_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_RESULTS_RESULT_INDEX_H_
