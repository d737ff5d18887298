#include "trace/kineto/repair_number.h"

#include <algorithm>
#include <cstddef>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

bool equals_ignoring_case(std::string_view token, std::string_view lower_case) {
  return std::equal(token.begin(), token.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

std::string_view take_digits(std::string_view& rest) {
  std::size_t count = 0;
  while (count < rest.size() && is_digit(rest[count])) ++count;
  const std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

}  // namespace

NumberRepair repair_number(std::string_view token, std::string& out) {
  std::string_view rest = token;
  std::string number;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    if (rest.front() == '-') number += '-';
    rest.remove_prefix(1);
  }
  if (equals_ignoring_case(rest, "nan") || equals_ignoring_case(rest, "inf") || equals_ignoring_case(rest, "infinity")) {
    out += "null";
    return NumberRepair::not_a_number;
  }
  std::string_view whole = take_digits(rest);
  std::string_view fraction;
  const std::size_t whole_size = whole.size();
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole_size + fraction.size() == 0) return NumberRepair::impossible;
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  number += whole.empty() ? "0" : whole;
  if (!fraction.empty()) (number += '.') += fraction;
  if (!rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) {
    std::string exponent{rest.front()};
    rest.remove_prefix(1);
    if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
      exponent += rest.front();
      rest.remove_prefix(1);
    }
    const std::string_view digits = take_digits(rest);
    if (!digits.empty()) (number += exponent) += digits;
  }
  if (!rest.empty()) return NumberRepair::impossible;
  out += number;
  return number == token ? NumberRepair::none : NumberRepair::rewritten;
}

}  // namespace graphtag::kineto
