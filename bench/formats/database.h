// An SQLite database: statements with parameters, and rows. Errors are exceptions in one line.

#ifndef TOPDNN_BENCH_FORMATS_DATABASE_H_
#define TOPDNN_BENCH_FORMATS_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "harness/text/errors.h"

struct sqlite3;
struct sqlite3_stmt;

namespace topdnn {

class DatabaseError : public RunFailure {
 public:
  using RunFailure::RunFailure;
};

// NULL, a number or a text.
using DatabaseValue = std::variant<std::nullptr_t, std::int64_t, double, std::string>;
using DatabaseRow = std::vector<DatabaseValue>;

struct DatabaseTable {
  std::vector<std::string> columns;
  std::vector<DatabaseRow> rows;
};

class Database {
 public:
  enum class Access { kReadWrite, kReadOnly };

  // A file, which kReadWrite creates; ":memory:" is a database in memory. Statements wait up to 5 s
  // for other processes. Throws DatabaseError.
  Database(const std::string& path, Access access);

  // Runs one statement with these parameters. Throws DatabaseError.
  DatabaseTable Run(const std::string& sql, const DatabaseRow& parameters = {});
  // From now on, statements may read tables and call functions, and nothing else: they change no
  // data and no file.
  void AllowOnlyReading();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_DATABASE_H_
