#include "trace/kineto/strict_parser.h"

#include <simdjson.h>

#include <cstring>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

class StrictParser {
 public:
  StrictParser(std::string_view text, EventFields* fields) : text_(text), fields_(fields) {}

  Parsed run() {
    const bool complete = fields_ != nullptr ? event() : value(1).complete;
    if (!complete) return {outcome_, 0};
    // Bytes beyond ASCII can only be in strings here.
    if (!simdjson::validate_utf8(text_.data(), position_)) return {Outcome::invalid, 0};
    return {Outcome::complete, position_};
  }

 private:
  struct Value {
    bool complete = false;
    TextSpan span;
    ValueType type = ValueType::literal;
  };
  struct Key {
    bool complete = false;
    TextSpan inside;
    bool escaped = false;
  };

  bool fail(Outcome outcome = Outcome::invalid) {
    outcome_ = outcome;
    return false;
  }
  // Whitespace, then a byte to look at.
  bool next() {
    position_ = skip_space(text_, position_);
    return position_ < text_.size() || fail(Outcome::incomplete);
  }
  bool expect(char c) {
    if (!next()) return false;
    if (text_[position_] != c) return fail();
    ++position_;
    return true;
  }
  TextSpan span_from(std::size_t start) const {
    return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(position_)};
  }

  bool string(bool& escaped) {
    for (++position_; position_ < text_.size();) {
      const char c = text_[position_];
      if (c == '"') {
        ++position_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail();
      if (c != '\\') {
        ++position_;
        continue;
      }
      escaped = true;
      const std::size_t length = escape_length(text_, position_);
      // The longest escape has 12 bytes: nearer to the end it may go on.
      if (length == 0)
        return fail(position_ + 12 > text_.size() && text_.find('"', position_) == std::string_view::npos ? Outcome::incomplete
                                                                                                          : Outcome::invalid);
      position_ += length;
    }
    return fail(Outcome::incomplete);
  }

  Key key() {
    Key result;
    if (!next()) return result;
    if (text_[position_] != '"') {
      fail();
      return result;
    }
    const std::size_t start = position_ + 1;
    if (!string(result.escaped)) return result;
    result.inside = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(position_ - 1)};
    result.complete = expect(':');
    return result;
  }

  bool number() {
    const char* const start = text_.data() + position_;
    const Number number = scan_number(start);
    const char* const text_end = text_.data() + text_.size();
    if (number.end == nullptr) {
      // "-", "1." and "1e" may go on behind the text's end, and so may "1".
      std::size_t end = position_;
      while (end < text_.size() && std::strchr("+-.eE0123456789", text_[end]) != nullptr && text_[end] != '\0') ++end;
      return fail(end == text_.size() ? Outcome::incomplete : Outcome::invalid);
    }
    if (number.end >= text_end) return fail(Outcome::incomplete);
    position_ = static_cast<std::size_t>(number.end - text_.data());
    if (fields_ != nullptr && number.integer && number.end - start >= 20 &&
        beyond_64_bits({start, static_cast<std::size_t>(number.end - start)})) {
      fields_->note_integer_beyond_64_bits();
    }
    return true;
  }

  bool literal(std::string_view word) {
    const std::string_view here = text_.substr(position_, word.size());
    if (here != word) return fail(word.substr(0, here.size()) == here ? Outcome::incomplete : Outcome::invalid);
    position_ += word.size();
    return true;
  }

  // An object or array from its bracket on. `element` reads each member or value.
  template <typename Element>
  bool elements(char close, Element element) {
    ++position_;
    if (!next()) return false;
    if (text_[position_] == close) {
      ++position_;
      return true;
    }
    for (;;) {
      if (!element() || !next()) return false;
      const char c = text_[position_++];
      if (c == close) return true;
      if (c != ',') return fail();
    }
  }

  // An object. `take` reads the value of each member.
  template <typename Take>
  bool members(Take take) {
    return elements('}', [&] {
      const Key name = key();
      return name.complete && take(name);
    });
  }

  bool object(int depth) {
    return members([&](const Key&) { return value(depth + 1).complete; });
  }

  // The object that is the value of "args", whose members go to the fields.
  bool args(int depth) {
    fields_->begin_args();
    return members([&](const Key& name) {
      const Value member = value(depth + 1);
      if (!member.complete) return false;
      return fields_->argument(name.inside, name.escaped, member.span) || fail(Outcome::too_large);
    });
  }

  bool array(int depth) {
    return elements(']', [&] { return value(depth + 1).complete; });
  }

  Value value(int depth, bool is_args = false) {
    Value result;
    if (!next()) return result;
    const std::size_t start = position_;
    bool escaped = false;
    switch (text_[position_]) {
      case '"':
        result.type = ValueType::string;
        result.complete = string(escaped);
        break;
      case '{':
        result.type = ValueType::object;
        result.complete = is_args ? args(depth) : depth <= kMaxNesting ? object(depth) : fail();
        break;
      case '[':
        result.type = ValueType::array;
        result.complete = depth <= kMaxNesting ? array(depth) : fail();
        break;
      case 't':
        result.complete = literal("true");
        break;
      case 'f':
        result.complete = literal("false");
        break;
      case 'n':
        result.complete = literal("null");
        break;
      default:
        result.type = ValueType::number;
        result.complete = number();
        break;
    }
    result.span = span_from(start);
    return result;
  }

  bool event() {
    fields_->begin(text_.data());
    return members([&](const Key& name) {
      const Value member = value(2, fields_->is_args(name.inside, name.escaped));
      if (!member.complete) return false;
      return fields_->top_level(name.inside, name.escaped, member.span, member.type) || fail(Outcome::too_large);
    });
  }

  std::string_view text_;
  EventFields* fields_;
  std::size_t position_ = 0;
  Outcome outcome_ = Outcome::invalid;
};

}  // namespace

Parsed parse_event(std::string_view text, EventFields& fields) {
  return StrictParser(text, &fields).run();
}
Parsed parse_value(std::string_view text) {
  return StrictParser(text, nullptr).run();
}

}  // namespace graphtag::kineto
