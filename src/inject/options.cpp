#include "inject/options.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/rank_variables.h"
#include "base/run_protocol.h"

namespace graphtag::inject {
namespace {

std::string text(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string{} : std::string{value};
}

std::optional<std::int64_t> number(const Environment& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr) return std::nullopt;
  std::int64_t result = 0;
  const char* end = value + std::strlen(value);
  const auto [stop, error] = std::from_chars(value, end, result);
  if (error != std::errc{} || stop != end || result < 0) return std::nullopt;
  return result;
}

std::uint32_t small_number(const Environment& environment, const char* name) {
  const std::int64_t value = number(environment, name).value_or(0);
  return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = list.find(',');
    if (const std::string_view part = list.substr(0, comma); !part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Options read_options(const Environment& environment) {
  Options options;
  options.control = text(environment, run::kControl);
  options.out = text(environment, run::kOut);
  options.delay_ms = number(environment, run::kDelay).value_or(0);
  options.duration_ms = number(environment, run::kDuration);
  constexpr std::string_view kRangePrefix = "nvtx:";
  const std::string start_on = text(environment, run::kStartOn);
  if (start_on.starts_with(kRangePrefix)) options.start_on = start_on.substr(kRangePrefix.size());
  options.has_api = text(environment, run::kNoApi) != "1";
  options.max_bytes = static_cast<std::uint64_t>(number(environment, run::kMaxBytes).value_or(0));
  options.buffer_count = small_number(environment, run::kBufferCount);
  options.buffer_bytes = small_number(environment, run::kBufferBytes);
  if (const std::string domains = text(environment, run::kDomains); !domains.empty()) options.domains = split(domains);
  options.next_cuda = text(environment, run::kNextCuda);
  options.next_nvtx = text(environment, run::kNextNvtx);
  return options;
}

std::optional<std::int64_t> rank_of(const Environment& environment) {
  for (const char* name : kRankVariables) {
    if (const auto rank = number(environment, name)) return rank;
  }
  return std::nullopt;
}

std::string trace_name(const std::string& host, std::optional<std::int64_t> rank, std::int64_t pid) {
  std::string name = "graphtag.";
  for (const char c : host.substr(0, host.find('.'))) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += is_plain ? c : '_';
  }
  if (rank) name += ".rank" + std::to_string(*rank);
  return name + "." + std::to_string(pid) + run::kTraceSuffix;
}

}  // namespace graphtag::inject
