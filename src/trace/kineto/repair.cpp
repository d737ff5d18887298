#include "trace/kineto/repair.h"

#include <cstdint>

#include "base/utf8.h"
#include "trace/kineto/repair_number.h"
#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

constexpr std::size_t kNextKeyBytesMax = 1024;

enum class Place { key, in_object, in_array };

class Repairer {
 public:
  Repairer(const RepairInput& input, std::string& out) : input_(input), text_(input.text), out_(out) { out_.clear(); }

  Repair run_event() { return result(object(1) && !ran_out_); }
  Repair run_value() { return result(value(1, Place::in_object) && !ran_out_); }
  Repair run_key() { return result(string(Place::key) && !ran_out_); }

 private:
  Repair result(bool complete) {
    repair_.size = position_;
    if (out_.size() > input_.output_limit) {
      repair_.outcome = Outcome::too_large;
    } else if (ran_out_) {
      repair_.outcome = Outcome::incomplete;
    } else {
      repair_.outcome = complete ? Outcome::complete : Outcome::invalid;
    }
    return repair_;
  }

  void found(ProblemKind kind, std::size_t where) {
    auto& first = repair_.problems[static_cast<std::size_t>(kind)];
    if (!first) first = where;
  }
  // A byte to look at; 0 at the end of the text. Whatever is concluded from an end that is not the file's will be dropped.
  char look(std::size_t i) {
    if (i < text_.size()) return text_[i];
    if (!input_.is_end) ran_out_ = true;
    return '\0';
  }
  std::size_t after_space(std::size_t i) {
    while (is_space(look(i))) ++i;
    return i;
  }
  bool at_end(std::size_t i) const { return i >= text_.size(); }
  void copy_space() {
    const std::size_t end = after_space(position_);
    out_.append(text_, position_, end - position_);
    position_ = end;
  }
  // The parse may stop: what is looked for is not there, or was seen to be beyond the text's end.
  bool give_up() {
    look(position_);
    return ran_out_ || at_end(position_) || out_.size() > input_.output_limit;
  }

  // Whether a key and a colon stand at `i`, as they do behind a comma of an object.
  bool key_follows(std::size_t i) {
    if (look(i) != '"') return false;
    const std::size_t stop = i + kNextKeyBytesMax;
    for (++i; i < stop && !at_end(i); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        return look(after_space(i + 1)) == ':';
      }
    }
    look(i);
    return false;
  }
  bool value_follows(std::size_t i) {
    const char c = look(i);
    return c == '"' || c == '{' || c == '[' || c == '-' || c == '+' || c == '.' || is_digit(c) || c == 't' || c == 'f' ||
           c == 'n' || c == 'N' || c == 'I' || c == 'i';
  }
  // Whether what stands behind the quote at `i` is what follows a string in that place.
  bool closes(std::size_t i, Place place) {
    i = after_space(i + 1);
    const char c = look(i);
    if (place == Place::key) return c == ':';
    if (at_end(i)) return true;
    if (c == (place == Place::in_object ? '}' : ']')) {
      i = after_space(i + 1);
      const char next = look(i);
      return next == ',' || next == '}' || next == ']' || next == '{' || at_end(i);
    }
    if (c != ',') return false;
    i = after_space(i + 1);
    const char next = look(i);
    if (place == Place::in_array) return value_follows(i) || next == ']' || next == ',';
    return next == '}' || next == ',' || key_follows(i);
  }
  // Whether the quote at `i` is one of a pair around the next key: the string has lost its end before.
  bool is_next_key(std::size_t i) {
    std::size_t k = i;
    while (k > 0 && is_space(text_[k - 1])) --k;
    return k > 0 && text_[k - 1] == ',' && key_follows(i);
  }

  bool string(Place place) {
    out_ += '"';
    for (++position_; !give_up();) {
      const char c = text_[position_];
      if (c == '"') {
        if (closes(position_, place)) {
          out_ += '"';
          ++position_;
          return true;
        }
        if (place != Place::key && is_next_key(position_)) return false;
        found(ProblemKind::unescaped_quote, position_);
        out_ += "\\\"";
        ++position_;
      } else if (c == '\\') {
        escape();
      } else if (static_cast<unsigned char>(c) < 0x20) {
        control_character(c);
      } else if (c == '{' && is_next_event()) {
        return false;
      } else if (static_cast<unsigned char>(c) < 0x80) {
        out_ += c;
        ++position_;
      } else {
        character();
      }
    }
    return false;
  }

  bool is_next_event() {
    if (position_ + EventStart::kLookahead > text_.size() && !input_.is_end) ran_out_ = true;
    std::size_t k = position_;
    while (k > 0 && is_space(text_[k - 1])) --k;
    return k > 0 && text_[k - 1] == ',' && input_.event_start.at(text_, position_);
  }

  void escape() {
    for (std::size_t k = 1; k < 12; ++k) look(position_ + k);
    std::size_t length = escape_length(text_, position_);
    if (length != 0) {
      out_.append(text_, position_, length);
    } else {
      found(ProblemKind::bad_escape, position_);
      const bool half_pair = look(position_ + 1) == 'u' && hex4(text_, position_ + 2) >= 0;
      out_ += half_pair ? "\\ufffd" : "\\\\";
      length = half_pair ? 6 : 1;
    }
    position_ += length;
  }

  void control_character(char c) {
    found(ProblemKind::raw_control_character, position_++);
    switch (c) {
      case '\b':
        out_ += "\\b";
        return;
      case '\f':
        out_ += "\\f";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      default: {
        constexpr std::string_view kHex = "0123456789abcdef";
        out_ += "\\u00";
        out_ += kHex[static_cast<unsigned char>(c) >> 4];
        out_ += kHex[static_cast<unsigned char>(c) & 15];
      }
    }
  }

  void character() {
    for (std::size_t k = 1; k < 4; ++k) look(position_ + k);
    const std::size_t length = utf8_length(text_, position_);
    if (length == 0) {
      found(ProblemKind::invalid_utf8, position_++);
      out_ += kReplacementCharacter;
      return;
    }
    out_.append(text_, position_, length);
    position_ += length;
  }

  // A number, a literal, or what some writers put in their place.
  bool word() {
    const std::size_t start = position_;
    for (char c = look(position_); is_digit(c) || is_letter(c) || c == '+' || c == '-' || c == '.'; c = look(position_))
      ++position_;
    const std::string_view token = text_.substr(start, position_ - start);
    if (token == "true" || token == "false" || token == "null") {
      out_ += token;
      return true;
    }
    const NumberRepair repaired = repair_number(token, out_);
    if (repaired == NumberRepair::not_a_number) found(ProblemKind::not_a_number, start);
    if (repaired == NumberRepair::rewritten) found(ProblemKind::bad_number, start);
    return repaired != NumberRepair::impossible;
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  bool value(int depth, Place place) {
    if (give_up()) return false;
    switch (text_[position_]) {
      case '"':
        return string(place);
      case '{':
        return depth <= kMaxNesting && object(depth);
      case '[':
        return depth <= kMaxNesting && array(depth);
      default:
        return word();
    }
  }

  // Commas with nothing before or behind them are left out. `count`: elements so far. False at the closing byte, which is passed over.
  bool next_element(char close, std::size_t count) {
    copy_space();
    std::size_t comma_at = position_;
    std::size_t commas = 0;
    while (look(position_) == ',') {
      if (commas++ == 0) comma_at = position_;
      if (commas > 1 || count == 0) found(ProblemKind::trailing_comma, position_);
      ++position_;
      position_ = after_space(position_);
    }
    if (look(position_) == close) {
      if (commas != 0) found(ProblemKind::trailing_comma, comma_at);
      out_ += close;
      ++position_;
      return false;
    }
    if (count != 0) {
      if (commas == 0) broken_ = true;
      out_ += ',';
    }
    out_.append(text_, comma_at + (commas != 0 ? 1 : 0), commas == 1 ? position_ - comma_at - 1 : 0);
    return true;
  }

  bool object(int depth) {
    out_ += '{';
    ++position_;
    for (std::size_t count = 0; next_element('}', count); ++count) {
      if (broken_ || give_up() || text_[position_] != '"' || !string(Place::key)) return false;
      copy_space();
      if (look(position_) != ':') return false;
      out_ += ':';
      ++position_;
      copy_space();
      if (!value(depth + 1, Place::in_object)) return false;
    }
    return !ran_out_;
  }

  bool array(int depth) {
    out_ += '[';
    ++position_;
    for (std::size_t count = 0; next_element(']', count); ++count) {
      if (broken_ || give_up() || !value(depth + 1, Place::in_array)) return false;
    }
    return !ran_out_;
  }

  const RepairInput& input_;
  std::string_view text_;
  std::string& out_;
  std::size_t position_ = 0;
  bool ran_out_ = false;  // looked behind the end of a text that goes on
  bool broken_ = false;   // two elements without a comma between them
  Repair repair_;
};

}  // namespace

Repair repair_event(const RepairInput& input, std::string& out) {
  return Repairer(input, out).run_event();
}
Repair repair_value(const RepairInput& input, std::string& out) {
  return Repairer(input, out).run_value();
}
Repair repair_key(const RepairInput& input, std::string& out) {
  return Repairer(input, out).run_key();
}

}  // namespace graphtag::kineto
