// What an export says about itself, and whose GPU work is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/event.h"
#include "trace/nsys/database.h"

namespace graphtag::nsys {

// SQL: the row belongs to the process, by the column `id_column` (a globalPid or globalTid); every row does if there is no process or no column.
std::string is_of_process(const Database& database, std::string_view table, std::string_view id_column,
                          std::optional<std::int64_t> process);

// Error (unsupported): a database of something else.
Result<void> check_is_export(Database& database, const std::string& path);

// The process (globalPid) whose GPU work is to be read: the only one, or that with the number `wanted_pid`. Nothing where the export names
// none. Errors (invalid_argument): there are several and none is wanted, which lists them; there is none of that number.
Result<std::optional<std::int64_t>> choose_process(Database& database, const std::string& path,
                                                   std::optional<std::int64_t> wanted_pid);

// Error (unsupported): replays were recorded as a whole, without their nodes.
Result<void> check_has_nodes(Database& database, const std::string& path, std::optional<std::int64_t> process);

// pid, rank, base time, devices, producer. Errors: the file is damaged.
Result<TraceInfo> read_facts(Database& database, std::optional<std::int64_t> process);

}  // namespace graphtag::nsys
