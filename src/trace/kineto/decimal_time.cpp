#include "trace/kineto/decimal_time.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

// The digits of a number without its point: value = digits x 10^exponent.
class Digits {
 public:
  explicit Digits(std::string_view number) {
    const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
    mantissa_ = number.substr(0, mark);
    point_ = std::min(mantissa_.find('.'), mantissa_.size());
    if (mark < number.size()) exponent_ = read_exponent(number.substr(mark + 1));
  }
  std::size_t size() const { return mantissa_.size() - (point_ < mantissa_.size() ? 1 : 0); }
  unsigned operator[](std::size_t i) const { return static_cast<unsigned>(mantissa_[i < point_ ? i : i + 1] - '0'); }
  // How many of the digits (zeros behind the last one included) stand before the point of value x 10^3.
  std::int64_t before_point() const { return static_cast<std::int64_t>(point_) + exponent_ + 3; }

 private:
  static std::int64_t read_exponent(std::string_view text) {
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    std::int64_t value = 0;
    for (const char c : text) value = std::min(value * 10 + (c - '0'), std::int64_t{1} << 50);
    return negative ? -value : value;
  }

  std::string_view mantissa_;
  std::size_t point_ = 0;  // digits before the point as written
  std::int64_t exponent_ = 0;
};

}  // namespace

std::optional<std::int64_t> nanoseconds(std::string_view number) {
  const bool negative = !number.empty() && number.front() == '-';
  if (negative) number.remove_prefix(1);

  // What profilers write: at most 15 digits, a point, at most three digits.
  std::uint64_t value = 0;
  std::size_t i = 0;
  while (i < number.size() && i < 15 && is_digit(number[i])) value = value * 10 + static_cast<unsigned>(number[i++] - '0');
  std::size_t decimals = 0;
  if (i < number.size() && number[i] == '.') {
    ++i;
    for (; i < number.size() && decimals < 3 && is_digit(number[i]); ++decimals)
      value = value * 10 + static_cast<unsigned>(number[i++] - '0');
  }
  if (i == number.size()) {
    for (; decimals < 3; ++decimals) value *= 10;
    const auto magnitude = static_cast<std::int64_t>(value);
    return negative ? -magnitude : magnitude;
  }

  const Digits digits(number);
  const std::int64_t before_point = digits.before_point();
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;  // of the magnitude; one less for positive numbers
  value = 0;
  for (std::size_t k = 0; k < digits.size() && static_cast<std::int64_t>(k) < before_point; ++k) {
    if (value > kLimit / 10) return std::nullopt;
    value = value * 10 + digits[k];
    if (value > kLimit) return std::nullopt;
  }
  for (auto k = static_cast<std::int64_t>(digits.size()); k < before_point && value != 0; ++k) {
    if (value > kLimit / 10) return std::nullopt;
    value *= 10;
  }
  const bool has_next_digit = before_point >= 0 && static_cast<std::uint64_t>(before_point) < digits.size();
  if (has_next_digit && digits[static_cast<std::size_t>(before_point)] >= 5) ++value;
  if (value > (negative ? kLimit : kLimit - 1)) return std::nullopt;
  return negative ? static_cast<std::int64_t>(~value + 1) : static_cast<std::int64_t>(value);
}

}  // namespace graphtag::kineto
