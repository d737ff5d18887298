#include "trace/nsys/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

namespace graphtag::nsys {
namespace {

namespace fs = std::filesystem;

constexpr int kLargestRowBytes = 64 << 20;
constexpr int kStepsAtOnce = 1 << 14;
// Virtual machine steps that a query of an honest file stays far below: a row takes some 50 steps and more than 8 bytes.
constexpr std::uint64_t kStepsPerByte = 64;
constexpr std::uint64_t kStepsAnyway = std::uint64_t{4} << 20;
constexpr std::uint64_t kSmallestRowBytes = 3;

constexpr std::string_view kAdvice =
    "; export the report again: nsys export --type sqlite REPORT.nsys-rep (a file that is still being written cannot be read)";

Error damaged(const std::string& path, const std::string& what) {
  return {ErrorCode::malformed, what + std::string(kAdvice), path, {}};
}

std::uint32_t big_endian(const char* bytes, int size) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Whether the file has all the pages that its first page counts. (SQLite itself notices only where it needs one of them.)
bool is_whole(const std::string& path, std::uint64_t size_bytes) {
  std::array<char, 100> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size())) return false;
  const std::uint32_t page_bytes = big_endian(&head[16], 2);
  const bool counted = big_endian(&head[24], 4) == big_endian(&head[92], 4);
  return !counted || size_bytes >= std::uint64_t{page_bytes == 1 ? 65536 : page_bytes} * big_endian(&head[28], 4);
}

// As an URI, which alone can say that the file does not change.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  std::error_code ignored;
  for (const char c : fs::absolute(path, ignored).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
                       c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    }
  }
  return uri + "?mode=ro&immutable=1";
}

std::string bracketed(std::string_view name) {
  return "[" + std::string(name) + "]";
}

}  // namespace

struct Rows::Budget {
  std::string path;
  std::uint64_t limit_steps = 0;
  std::uint64_t limit_rows = 0;
  std::uint64_t steps = 0;  // of the statement that runs
};

struct Database::State {
  sqlite3* handle = nullptr;
  Rows::Budget budget;
  std::uint64_t size_bytes = 0;
  std::unordered_map<std::string, std::unordered_set<std::string>> tables;  // name -> columns
  std::unordered_map<std::string, std::string> keys;                        // table -> column that numbers its rows

  ~State() { sqlite3_close_v2(handle); }
  std::string message() const { return sqlite3_errmsg(handle); }
};

Rows::~Rows() {
  sqlite3_finalize(statement_);
}
Rows::Rows(Rows&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      budget_(other.budget_),
      what_(std::move(other.what_)),
      rows_(other.rows_) {}
Rows& Rows::operator=(Rows&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(budget_, other.budget_);
  std::swap(what_, other.what_);
  std::swap(rows_, other.rows_);
  return *this;
}

Result<bool> Rows::next() {
  if (statement_ == nullptr) return false;
  budget_->steps = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_DONE) return false;
  if (code == SQLITE_ROW) {
    if (++rows_ <= budget_->limit_rows) return true;
    return damaged(budget_->path, what_ + " gives more rows than the file can hold: the database is damaged");
  }
  if (code == SQLITE_INTERRUPT) {
    return damaged(budget_->path, what_ + " takes far longer to read than the file's size allows: the database is damaged");
  }
  const std::string why = sqlite3_errmsg(sqlite3_db_handle(statement_));
  if (code == SQLITE_FULL || code == SQLITE_IOERR_WRITE) {
    return Error{
        ErrorCode::io,
        what_ + " cannot be sorted: " + why + "; make room in the folder for temporary files, or name another in SQLITE_TMPDIR",
        budget_->path,
        {}};
  }
  return damaged(budget_->path, what_ + " cannot be read: " + why);
}

std::optional<std::int64_t> Rows::integer(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

std::optional<double> Rows::real(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

std::optional<std::string_view> Rows::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return std::nullopt;
  const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return std::nullopt;
  return std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void Rows::restart(std::int64_t parameter) {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_bind_int64(statement_, 1, parameter);
  rows_ = 0;
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::open(const std::string& path) {
  std::error_code error;
  for (const char* suffix : {"-journal", "-wal"}) {
    if (fs::file_size(path + suffix, error) > 0 && !error) {
      return damaged(path, "it was not closed by the program that wrote it: " + fs::path(path).filename().string() + suffix +
                               " lies beside it");
    }
  }
  auto state = std::make_unique<State>();
  state->size_bytes = fs::file_size(path, error);
  if (error) return Error{ErrorCode::not_found, "cannot open it: " + error.message(), path, {}};
  if (!is_whole(path, state->size_bytes)) return damaged(path, "it is cut: the end is missing");
  state->budget = {path, kStepsAnyway + state->size_bytes * kStepsPerByte, 1024 + state->size_bytes / kSmallestRowBytes, 0};

  const int code =
      sqlite3_open_v2(uri_of(path).c_str(), &state->handle,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nullptr);
  if (state->handle == nullptr) return Error{ErrorCode::too_large, "out of memory", path, {}};
  if (code != SQLITE_OK) return Error{ErrorCode::io, "SQLite cannot open it: " + state->message(), path, {}};
  sqlite3* const handle = state->handle;
  // Views, triggers and functions in the schema are somebody's code.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLargestRowBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(
      handle, kStepsAtOnce,
      [](void* context) {
        auto& budget = *static_cast<Rows::Budget*>(context);
        budget.steps += kStepsAtOnce;
        return budget.steps > budget.limit_steps ? 1 : 0;
      },
      &state->budget);
  // Sorting beyond the cache goes to temporary files. Without memory mapping a file that is cut meanwhile is an error, not a signal.
  sqlite3_exec(handle, "PRAGMA cache_size=-8192; PRAGMA temp_store=FILE; PRAGMA mmap_size=0; PRAGMA cell_size_check=ON", nullptr,
               nullptr, nullptr);

  Database database(std::move(state));
  // Only real tables: a view has no root page, and neither has a virtual table.
  Result<Rows> tables =
      database.prepare("SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0", "the list of its tables");
  if (!tables) return tables.error();
  for (;;) {
    const Result<bool> more = tables->next();
    if (!more) return more.error();
    if (!*more) break;
    if (const auto name = tables->text(0); name && name->find(']') == std::string_view::npos) {
      database.state_->tables.emplace(*name, std::unordered_set<std::string>{});
    }
  }
  for (auto& [table, columns] : database.state_->tables) {
    Result<Rows> info = database.prepare("PRAGMA table_info(" + bracketed(table) + ")", "the schema of " + table);
    if (!info) return info.error();
    std::string key;
    int keys = 0;
    for (;;) {
      const Result<bool> more = info->next();
      if (!more) return more.error();
      if (!*more) break;
      const auto name = info->text(1);
      if (!name) continue;
      columns.emplace(*name);
      if (info->integer(5).value_or(0) != 0 && ++keys == 1 && info->text(2) == "INTEGER") key = *name;
    }
    if (keys == 1 && !key.empty()) database.state_->keys.emplace(table, key);
  }
  return database;
}

Result<Rows> Database::prepare(const std::string& sql, std::string what) {
  Rows rows;
  rows.budget_ = &state_->budget;
  rows.what_ = std::move(what);
  state_->budget.steps = 0;
  if (sqlite3_prepare_v2(state_->handle, sql.c_str(), static_cast<int>(sql.size()), &rows.statement_, nullptr) != SQLITE_OK) {
    return damaged(state_->budget.path, rows.what_ + " cannot be read: " + state_->message());
  }
  return rows;
}

bool Database::has(std::string_view table) const {
  return state_->tables.contains(std::string(table));
}

bool Database::has(std::string_view table, std::string_view column) const {
  const auto found = state_->tables.find(std::string(table));
  return found != state_->tables.end() && found->second.contains(std::string(column));
}

std::uint64_t Database::row_numbers(std::string_view table) {
  if (!has(table)) return 0;
  Result<Rows> rows = prepare("SELECT max(rowid) FROM " + bracketed(table), std::string(table));
  if (!rows) return 0;
  const Result<bool> more = rows->next();
  const std::int64_t last = more && *more ? rows->integer(0).value_or(0) : 0;
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(last, 0)), state_->budget.limit_rows);
}

Result<Rows> Database::rows(std::string_view table, const std::vector<std::string_view>& columns, const std::string& rest) {
  if (!has(table)) return Rows();
  std::string sql = "SELECT ";
  for (const std::string_view column : columns) sql += (has(table, column) ? bracketed(column) : "NULL") + ",";
  sql += "rowid FROM main." + bracketed(table) + " " + rest;
  return prepare(sql, std::string(table));
}

Result<Rows> Database::look_up(std::string_view table, std::string_view key_column, std::string_view column) {
  if (!has(table, key_column) || !has(table, column)) return Rows();
  const auto key = state_->keys.find(std::string(table));
  std::string from = "main." + bracketed(table);
  if (key == state_->keys.end() || key->second != key_column) {
    // Without a key each look-up would read the whole table.
    const std::string copy = "temp." + bracketed(table);
    for (const std::string& sql :
         {"CREATE TABLE " + copy + "(" + bracketed(key_column) + " INTEGER PRIMARY KEY, " + bracketed(column) + ")",
          "INSERT OR IGNORE INTO " + copy + " SELECT " + bracketed(key_column) + "," + bracketed(column) + " FROM " + from +
              " WHERE typeof(" + bracketed(key_column) + ")='integer'"}) {
      Result<Rows> made = prepare(sql, std::string(table));
      if (!made) return made.error();
      if (const Result<bool> done = made->next(); !done) return done.error();
    }
    from = copy;
  }
  return prepare("SELECT " + bracketed(column) + " FROM " + from + " WHERE " + bracketed(key_column) + "=?", std::string(table));
}

std::uint64_t Database::size_bytes() const {
  return state_->size_bytes;
}

}  // namespace graphtag::nsys
