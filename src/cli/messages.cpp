#include "cli/messages.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/exit_code.h"
#include "write/table_text.h"

namespace graphtag::cli {
namespace {

void print(std::string_view prefix, std::string_view text) {
  // Names of files, and what files hold, may be anything; no text of our own has line breaks.
  write_stderr(fmt::format("graphtag: {}{}\n", prefix, printable(text)));
}

// What happened to the events of a kind.
std::string_view consequence(ProblemKind kind) {
  if (leaves_out(kind)) return "left out";
  return kind >= ProblemKind::duplicate_key ? "kept as it is" : "repaired";
}

}  // namespace

void write_stderr(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int fail(const Error& error) {
  print("", error.to_string());
  return error.code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
}

void warn(std::string_view text) {
  print("warning: ", text);
}

void note(std::string_view text) {
  print("", text);
}

std::vector<std::string> describe(const Problems& problems) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kProblemKinds; ++i) {
    const auto kind = static_cast<ProblemKind>(i);
    const auto& entry = problems[kind];
    if (entry.count == 0) continue;
    std::string offsets;
    for (const auto offset : entry.offsets) offsets += fmt::format("{}{}", offsets.empty() ? "" : ", ", offset);
    if (entry.count > entry.offsets.size()) offsets += ", ..";
    lines.push_back(
        fmt::format("{} x {} ({}) at offset {}: {}", entry.count, to_string(kind), consequence(kind), offsets, entry.example));
  }
  return lines;
}

}  // namespace graphtag::cli
