#include "bench/formats/database.h"

#include <sqlite3.h>

#include <type_traits>
#include <utility>

namespace topdnn {

namespace {

constexpr int kWaitMilliseconds = 5000;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

[[noreturn]] void Fail(sqlite3* database) { throw DatabaseError(sqlite3_errmsg(database)); }

Statement Prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, &rest) != SQLITE_OK) Fail(database);
  Statement statement(raw);
  if (statement == nullptr) throw DatabaseError("there is no statement");
  sqlite3_stmt* second = nullptr;
  const bool valid = sqlite3_prepare_v2(database, rest, -1, &second, nullptr) == SQLITE_OK;
  const Statement more(second);
  if (!valid || more != nullptr) throw DatabaseError("more than one statement");
  return statement;
}

void Bind(sqlite3* database, sqlite3_stmt* statement, int place, const DatabaseValue& value) {
  const int result = std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::nullptr_t>) {
          return sqlite3_bind_null(statement, place);
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          return sqlite3_bind_int64(statement, place, held);
        } else if constexpr (std::is_same_v<Held, double>) {
          return sqlite3_bind_double(statement, place, held);
        } else {
          return sqlite3_bind_text(statement, place, held.c_str(), static_cast<int>(held.size()),
                                   SQLITE_TRANSIENT);
        }
      },
      value);
  if (result != SQLITE_OK) Fail(database);
}

DatabaseValue ValueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return nullptr;
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    default: {
      const auto* const text = sqlite3_column_text(statement, column);
      const int bytes = sqlite3_column_bytes(statement, column);
      return std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes));
    }
  }
}

// For sqlite3_set_authorizer. ATTACH and VACUUM INTO would write files even from a read-only
// database.
int OnlyReading(void*, int action, const char*, const char*, const char*, const char*) {
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ ||
                     action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Database::Database(const std::string& path, Access access) {
  const int flags = access == Access::kReadOnly ? SQLITE_OPEN_READONLY
                                                : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  database_.reset(raw);
  if (result != SQLITE_OK) {
    throw DatabaseError(raw == nullptr ? "out of memory" : sqlite3_errmsg(raw));
  }
  sqlite3_busy_timeout(raw, kWaitMilliseconds);
}

DatabaseTable Database::Run(const std::string& sql, const DatabaseRow& parameters) {
  const Statement statement = Prepare(database_.get(), sql);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Bind(database_.get(), statement.get(), static_cast<int>(i + 1), parameters[i]);
  }
  DatabaseTable table;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i) {
    table.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  }
  for (;;) {
    const int result = sqlite3_step(statement.get());
    if (result == SQLITE_DONE) return table;
    if (result != SQLITE_ROW) Fail(database_.get());
    DatabaseRow row;
    for (int i = 0; i < columns; ++i) row.push_back(ValueOf(statement.get(), i));
    table.rows.push_back(std::move(row));
  }
}

void Database::AllowOnlyReading() { sqlite3_set_authorizer(database_.get(), OnlyReading, nullptr); }

}  // namespace topdnn
