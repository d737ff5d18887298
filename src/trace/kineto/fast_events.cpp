#include "trace/kineto/fast_events.h"

#include <cstring>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

// The last byte at or before `i` that is no whitespace; npos if there is none.
std::size_t skip_space_back(std::string_view text, std::size_t i) {
  return text.find_last_not_of(" \n\r\t", i);
}

}  // namespace

std::size_t FastEvents::guess_end(std::string_view view) {
  for (std::size_t brace = view.rfind('{'); brace != std::string_view::npos && brace > 1; brace = view.rfind('{', brace - 1)) {
    const std::size_t comma = skip_space_back(view, brace - 1);
    if (comma == std::string_view::npos || comma == 0 || view[comma] != ',') continue;
    const std::size_t end = skip_space_back(view, comma - 1);
    if (end != std::string_view::npos && view[end] == '}') return end + 1;
  }
  return 0;
}

bool FastEvents::start(char* text, std::size_t size, bool comma) {
  const auto tokens = index_.find({text, size});
  if (tokens.empty()) return false;
  text_ = text;
  size_ = size;
  behind_ = text[size];
  text[size] = '\0';
  token_ = tokens.data();
  comma_ = comma;
  backslash_ = 0;
  has_backslash(0, 0);
  return true;
}

void FastEvents::stop() {
  text_[size_] = behind_;
}

bool FastEvents::next() {
  if (comma_) {
    if (text_[*token_] != ',') return false;
    ++token_;
  }
  if (text_[*token_] != '{') return false;
  begin_ = *token_;
  if (!event()) return false;
  comma_ = true;
  return true;
}

// Asked for strings in the order of the text.
bool FastEvents::has_backslash(std::uint32_t begin, std::uint32_t end) {
  if (backslash_ < begin || begin == 0) {
    const void* const found = std::memchr(text_ + begin, '\\', size_ - begin);
    backslash_ =
        static_cast<std::uint32_t>(found == nullptr ? size_ : static_cast<std::size_t>(static_cast<const char*>(found) - text_));
  }
  return backslash_ < end;
}

bool FastEvents::string_is_clean(std::uint32_t begin, std::uint32_t end) {
  return !has_backslash(begin, end) || escapes_are_valid({text_ + begin + 1, end - begin - 2});
}

// Between a string and the next token lies nothing but whitespace: simdjson's first stage lets strings end, and begins a token at anything else.
std::uint32_t FastEvents::string_end(std::uint32_t begin, std::uint32_t next) const {
  std::uint32_t end = next;
  while (end > begin + 1 && text_[end - 1] != '"') --end;
  return end > begin + 1 ? end : 0;
}

std::uint32_t FastEvents::number_end(std::uint32_t begin, std::uint32_t next) {
  const Number number = scan_number(text_ + begin);
  if (number.end == nullptr) return 0;
  const auto end = static_cast<std::uint32_t>(number.end - text_);
  if (end != next && !is_space(*number.end)) return 0;
  if (number.integer && end - begin >= 20 && beyond_64_bits({text_ + begin, end - begin})) fields_.note_integer_beyond_64_bits();
  return end;
}

std::uint32_t FastEvents::literal_end(std::uint32_t begin, std::uint32_t next, std::string_view word) const {
  // At most 4 bytes behind the text are compared.
  if (std::memcmp(text_ + begin, word.data(), word.size()) != 0) return 0;
  const std::uint32_t end = begin + static_cast<std::uint32_t>(word.size());
  return end == next || is_space(text_[end]) ? end : 0;
}

// A key and its colon.
inline bool FastEvents::key(TextSpan& inside, bool& escaped) {
  const std::uint32_t begin = *token_;
  if (text_[begin] != '"') return false;
  const std::uint32_t colon = *++token_;
  if (text_[colon] != ':') return false;
  ++token_;
  const std::uint32_t end = string_end(begin, colon);
  if (end == 0) return false;
  inside = {begin + 1 - begin_, end - 1 - begin_};
  escaped = has_backslash(begin, end);
  return !escaped || escapes_are_valid({text_ + begin + 1, end - begin - 2});
}

inline FastEvents::Value FastEvents::value(int depth) {
  const std::uint32_t begin = *token_++;
  switch (text_[begin]) {
    case '"': {
      const std::uint32_t end = string_end(begin, *token_);
      return {end != 0 && string_is_clean(begin, end) ? end : 0, ValueType::string};
    }
    case '{':
      return {object(depth) ? token_[-1] + 1 : 0, ValueType::object};
    case '[':
      return {array(depth) ? token_[-1] + 1 : 0, ValueType::array};
    case 't':
      return {literal_end(begin, *token_, "true"), ValueType::literal};
    case 'f':
      return {literal_end(begin, *token_, "false"), ValueType::literal};
    case 'n':
      return {literal_end(begin, *token_, "null"), ValueType::literal};
    case '\0':  // the end
      --token_;
      return {};
    default:
      return {number_end(begin, *token_), ValueType::number};
  }
}

// The rest of an object behind its brace. `take` reads the value of each member.
template <typename Take>
inline bool FastEvents::members(Take take) {
  if (text_[*token_] == '}') {
    ++token_;
    return true;
  }
  for (;;) {
    TextSpan inside;
    bool escaped = false;
    if (!key(inside, escaped) || !take(inside, escaped)) return false;
    const char c = text_[*token_];
    if (c != ',' && c != '}') return false;
    ++token_;
    if (c == '}') return true;
  }
}

bool FastEvents::object(int depth) {
  if (depth > kMaxNesting) return false;
  return members([&](TextSpan, bool) { return value(depth + 1).end != 0; });
}

bool FastEvents::array(int depth) {
  if (depth > kMaxNesting) return false;
  if (text_[*token_] == ']') {
    ++token_;
    return true;
  }
  for (;;) {
    if (value(depth + 1).end == 0) return false;
    const char c = text_[*token_];
    if (c != ',' && c != ']') return false;
    ++token_;
    if (c == ']') return true;
  }
}

// As object(), of the object that is the value of "args" (depth 2).
bool FastEvents::args() {
  fields_.begin_args();
  return members([&](TextSpan inside, bool escaped) {
    const std::uint32_t begin = *token_ - begin_;
    const Value member = value(3);
    return member.end != 0 && fields_.argument(inside, escaped, {begin, member.end - begin_});
  });
}

// An event from its brace on (depth 1).
bool FastEvents::event() {
  fields_.begin(text_ + begin_);
  ++token_;
  const bool clean = members([&](TextSpan inside, bool escaped) {
    const std::uint32_t begin = *token_;
    Value member;
    if (text_[begin] == '{' && fields_.is_args(inside, escaped)) {
      ++token_;
      member = {args() ? token_[-1] + 1 : 0, ValueType::object};
    } else {
      member = value(2);
    }
    return member.end != 0 && fields_.top_level(inside, escaped, {begin - begin_, member.end - begin_}, member.type);
  });
  end_ = token_[-1] + 1;
  return clean;
}

}  // namespace graphtag::kineto
