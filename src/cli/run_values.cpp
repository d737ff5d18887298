#include "cli/run_values.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>

namespace graphtag::cli {
namespace {

// A number that is not negative, and what is behind it.
std::optional<double> leading_number(const std::string& text, std::string_view& rest) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
  rest = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_duration_ms(const std::string& text) {
  static const std::map<std::string_view, double> units{{"", 1e3}, {"s", 1e3}, {"ms", 1}, {"m", 60e3}, {"h", 3600e3}};
  std::string_view rest;
  const auto number = leading_number(text, rest);
  const auto unit = units.find(rest);
  if (!number || unit == units.end() || *number * unit->second > 1e12) return std::nullopt;
  return std::llround(*number * unit->second);
}

std::optional<std::uint64_t> parse_size_bytes(const std::string& text) {
  static const std::map<std::string_view, int> units{{"", 0},   {"B", 0},   {"K", 10},  {"M", 20},  {"G", 30},
                                                     {"T", 40}, {"KB", 10}, {"MB", 20}, {"GB", 30}, {"TB", 40}};
  std::string_view rest;
  const auto number = leading_number(text, rest);
  const auto unit = units.find(rest);
  if (!number || unit == units.end()) return std::nullopt;
  const double bytes = std::ldexp(*number, unit->second);
  if (bytes > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<Buffers> parse_buffers(const std::string& text) {
  const std::size_t times = text.find('x');
  const auto count = parse_size_bytes(text.substr(0, times));
  if (!count || *count < 2 || *count > 4096) return std::nullopt;
  Buffers buffers{static_cast<std::uint32_t>(*count), 0};
  if (times == std::string::npos) return buffers;
  const auto bytes = parse_size_bytes(text.substr(times + 1));
  if (!bytes || *bytes < 4096 || *bytes > (64U << 20) || *bytes % 8 != 0) return std::nullopt;
  buffers.bytes = static_cast<std::uint32_t>(*bytes);
  return buffers;
}

}  // namespace graphtag::cli
