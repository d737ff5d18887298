#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/messages.h"
#include "cli/terminal.h"
#include "write/table_text.h"

namespace graphtag::cli {
namespace {

std::string bytes_text(double bytes) {
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (bytes < 999.5)
      return bytes < 9.95 && unit[0] != 'B' ? fmt::format("{:.1f} {}", bytes, unit) : fmt::format("{:.0f} {}", bytes, unit);
    bytes /= 1000;
  }
  return fmt::format("{:.1f} TB", bytes);
}

}  // namespace

std::string progress_line(const std::string& title, std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds,
                          int width) {
  const double part = total_bytes == 0 ? 1 : std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const double rate = seconds > 0 ? static_cast<double>(done_bytes) / seconds : 0;
  std::string numbers = fmt::format("{:3.0f} %  {} of {}  {}/s", part * 100, bytes_text(static_cast<double>(done_bytes)),
                                    bytes_text(static_cast<double>(total_bytes)), bytes_text(rate));
  if (rate > 0 && total_bytes > done_bytes)
    numbers += fmt::format("  {:.0f} s left", static_cast<double>(total_bytes - done_bytes) / rate);
  const int bar = std::clamp(width - static_cast<int>(title.size() + numbers.size()) - 7, 0, 30);
  const int filled = static_cast<int>(part * bar + 0.5);
  std::string line = bar >= 5 ? fmt::format("{}  [{:#<{}}{:-<{}}]  {}", title, "", filled, "", bar - filled, numbers)
                              : fmt::format("{}  {}", title, numbers);
  if (static_cast<int>(line.size()) >= width) line.resize(static_cast<std::size_t>(std::max(0, width - 1)));
  return line;
}

Progress::Progress(std::string_view title, bool quiet) : title_(printable(title)), shown_(!quiet && is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  clear();
}

void Progress::update(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  write_stderr("\r\033[K" + progress_line(title_, done_bytes, total_bytes, seconds, terminal_width(STDERR_FILENO)));
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  write_stderr("\r\033[K");
  drawn_ = false;
}

}  // namespace graphtag::cli
