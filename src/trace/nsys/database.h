// An SQLite file that may be anything: read only, nothing written beside it, no code of its own run, in bounded time.
//
// Tables are taken by their names and columns by theirs, as both come and go between versions of the exporter: a column that is not there
// reads as absent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace graphtag::nsys {

// The rows of one query, one after the other.
class Rows {
 public:
  Rows() = default;  // none
  ~Rows();
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;

  // Moves to the next row: false at the end. Errors: the file is damaged, or gives more rows than it can hold.
  Result<bool> next();
  // Of the current row, by the place of the column in the query. Nothing for NULL, for a value of another type, and for a column that the
  // table does not have.
  std::optional<std::int64_t> integer(int column) const;
  std::optional<double> real(int column) const;
  std::optional<std::string_view> text(int column) const;  // lives until next()

  // Starts again with another value of the query's one parameter.
  void restart(std::int64_t parameter);

 private:
  friend class Database;
  struct Budget;
  sqlite3_stmt* statement_ = nullptr;
  Budget* budget_ = nullptr;  // the database's
  std::string what_;          // for errors
  std::uint64_t rows_ = 0;
};

class Database {
 public:
  // Errors: it cannot be opened, is no whole database, or was not closed by who wrote it (a journal lies beside it).
  static Result<Database> open(const std::string& path);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  bool has(std::string_view table) const;
  bool has(std::string_view table, std::string_view column) const;
  // Row numbers go up to this: about how many rows there are. 0 for a table that is not there.
  std::uint64_t row_numbers(std::string_view table);

  // `columns` of `table`, then the row's number. `rest`: SQL behind the table's name, such as "WHERE [start] > 5 ORDER BY [start]"; it may name
  // only columns that has() says are there. Without the table: no rows. Errors: the file is damaged.
  Result<Rows> rows(std::string_view table, const std::vector<std::string_view>& columns, const std::string& rest = {});
  // The value of a key in `table`, one row at a time: restart(key) before next(). Made quick if the table is not.
  Result<Rows> look_up(std::string_view table, std::string_view key_column, std::string_view column);

  std::uint64_t size_bytes() const;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  Result<Rows> prepare(const std::string& sql, std::string what);
  std::unique_ptr<State> state_;
};

}  // namespace graphtag::nsys
