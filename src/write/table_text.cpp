#include "write/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/utf8.h"

namespace graphtag {
namespace {

struct Range {
  std::uint32_t first, last;
};

constexpr std::array kUnsafe = {Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0x61C, 0x61C},
                                Range{0x200B, 0x200B}, Range{0x200E, 0x200F}, Range{0x2028, 0x202E},
                                Range{0x2060, 0x206F}, Range{0xFEFF, 0xFEFF}, Range{0xE0000, 0xE007F}};
constexpr std::array kWide = {Range{0x1100, 0x115F},  Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},   Range{0xA960, 0xA97C},
                              Range{0xAC00, 0xD7A3},  Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
                              Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1FAFF},
                              Range{0x20000, 0x3FFFD}};
constexpr std::array kCombining = {Range{0x300, 0x36F},   Range{0x483, 0x489},   Range{0x591, 0x5BD},
                                   Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x200C, 0x200D},
                                   Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};

template <std::size_t n>
bool is_in(const std::array<Range, n>& ranges, std::uint32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code_point >= range.first && code_point <= range.last; });
}

// Of the `length` bytes of UTF-8 at `text[i]`.
std::uint32_t decode(std::string_view text, std::size_t i, std::size_t length) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
  if (length == 1) return byte(0);
  std::uint32_t code_point = byte(0) & (0xFFU >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) code_point = code_point << 6 | (byte(k) & 0x3FU);
  return code_point;
}

std::size_t width_of(std::uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (is_in(kCombining, code_point)) return 0;
  return is_in(kWide, code_point) ? 2 : 1;
}

void append_escape(std::string& out, std::uint32_t code_point) {
  switch (code_point) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += fmt::format("\\u{{{:x}}}", code_point);
  }
}

struct Character {
  std::size_t begin, length, width;
};

std::vector<Character> characters(std::string_view text) {
  std::vector<Character> characters;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, i), 1);
    characters.push_back({i, length, width_of(decode(text, i, length))});
    i += length;
  }
  return characters;
}

}  // namespace

std::string printable(std::string_view text, const Printable& how) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      out += how.utf8 ? kReplacementCharacter : std::string_view("?");
      ++i;
      continue;
    }
    const std::uint32_t code_point = decode(text, i, length);
    const bool is_kept_break = how.keep_line_breaks && (code_point == '\n' || code_point == '\t' || code_point == '\r');
    if (code_point == '\\' && how.double_backslash) {
      out += "\\\\";
    } else if ((is_in(kUnsafe, code_point) && !is_kept_break) || (code_point >= 0x80 && !how.utf8)) {
      append_escape(out, code_point);
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Character& character : characters(text)) width += character.width;
  return width;
}

std::string cut_middle(std::string_view text, std::size_t width, bool utf8) {
  const std::vector<Character> all = characters(text);
  std::size_t whole = 0;
  for (const Character& character : all) whole += character.width;
  if (whole <= width) return std::string(text);
  const std::string_view mark = utf8 ? "\xE2\x80\xA6" : "...";
  const std::size_t mark_width = utf8 ? 1 : 3;
  if (width <= mark_width) return std::string(mark.substr(0, utf8 ? mark.size() * width : width));
  const std::size_t room = width - mark_width;

  // The end takes the last component with its dot, or half if that is more; of a last component that is too long two thirds of the room.
  const std::size_t dot = text.rfind('.');
  const std::size_t leaf = dot == std::string_view::npos ? room + 1 : display_width(text.substr(dot));
  const std::size_t tail_room = leaf <= room ? std::max(leaf, room / 2) : room - room / 3;
  std::size_t tail_begin = all.size();
  std::size_t tail_width = 0;
  while (tail_begin > 0 && tail_width + all[tail_begin - 1].width <= tail_room) tail_width += all[--tail_begin].width;
  std::size_t head_end = 0;
  std::size_t head_width = 0;
  while (head_end < tail_begin && head_width + all[head_end].width <= room - tail_width) head_width += all[head_end++].width;

  std::string cut(text.substr(0, head_end == all.size() ? text.size() : all[head_end].begin));
  cut += mark;
  if (tail_begin < all.size()) cut += text.substr(all[tail_begin].begin);
  return cut;
}

}  // namespace graphtag
