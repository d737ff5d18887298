#include "trace/event_builder.h"

#include <array>
#include <charconv>

#include "base/utf8.h"

namespace graphtag {
namespace {

template <typename Integer>
void append_number(std::string& out, Integer value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      ++i;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
      ++i;
    } else if (const std::size_t length = utf8_length(text, i); length != 0) {
      out.append(text, i, length);
      i += length;
    } else {
      out += kReplacementCharacter;
      ++i;
    }
  }
  out += '"';
}

void append_microseconds(std::string& out, std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (negative) out += '-';
  append_number(out, size / 1000);
  const auto fraction = static_cast<unsigned>(size % 1000);
  out += '.';
  out += static_cast<char>('0' + fraction / 100);
  out += static_cast<char>('0' + fraction / 10 % 10);
  out += static_cast<char>('0' + fraction % 10);
}

void EventBuilder::key(std::string_view key) {
  text_ += text_.size() > 1 ? ",\"" : "\"";
  text_ += key;
  text_ += "\":";
}

void EventBuilder::begin(EventKind kind, char phase, std::string_view category_token, std::string_view name_token) {
  event_ = {};
  event_.kind = kind;
  event_.phase = phase;
  members_.clear();
  text_ = "{";
  key("ph");
  text_ += '"';
  text_ += phase;
  text_ += '"';
  const auto put = [this](std::string_view name, std::string_view token) {
    key(name);
    const std::size_t begin = text_.size();
    text_ += token;
    return since(begin);
  };
  if (!category_token.empty()) event_.category = put("cat", category_token);
  event_.name = put("name", name_token);
}

void EventBuilder::place(std::int64_t pid, std::int64_t tid) {
  key("pid");
  std::size_t begin = text_.size();
  append_number(text_, pid);
  event_.pid = since(begin);
  key("tid");
  begin = text_.size();
  append_number(text_, tid);
  event_.tid = since(begin);
}

void EventBuilder::id(std::uint64_t id) {
  key("id");
  const std::size_t begin = text_.size();
  append_number(text_, id);
  event_.id = since(begin);
}

void EventBuilder::bind_to_enclosing() {
  key("bp");
  text_ += "\"e\"";
}

void EventBuilder::time(std::optional<std::int64_t> start_ns, std::optional<std::int64_t> duration_ns) {
  event_.start_ns = start_ns;
  event_.duration_ns = duration_ns.value_or(0);
  if (!start_ns) return;
  key("ts");
  append_microseconds(text_, *start_ns);
  if (!duration_ns) return;
  key("dur");
  append_microseconds(text_, *duration_ns);
}

void EventBuilder::start_argument(std::string_view name) {
  if (members_.empty()) {
    key("args");
    event_.args.begin = static_cast<std::uint32_t>(text_.size());
    event_.has_args = true;
    text_ += "{\"";
  } else {
    text_ += ",\"";
  }
  const std::size_t begin = text_.size();
  text_ += name;
  argument_key_ = since(begin);
  text_ += "\":";
  argument_begin_ = text_.size();
}

void EventBuilder::end_argument() {
  members_.push_back({argument_key_, since(argument_begin_)});
}

void EventBuilder::argument(std::string_view key, std::int64_t value) {
  start_argument(key);
  append_number(text_, value);
  end_argument();
}

void EventBuilder::argument(std::string_view key, std::uint64_t value) {
  start_argument(key);
  append_number(text_, value);
  end_argument();
}

void EventBuilder::argument_json(std::string_view key, std::string_view json) {
  start_argument(key);
  text_ += json;
  end_argument();
}

void EventBuilder::argument(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
  start_argument(key);
  text_ += '[';
  append_number(text_, x);
  text_ += ',';
  append_number(text_, y);
  text_ += ',';
  append_number(text_, z);
  text_ += ']';
  end_argument();
}

const Event& EventBuilder::finish(std::uint64_t offset) {
  if (!members_.empty()) {
    text_ += '}';
    event_.args.end = static_cast<std::uint32_t>(text_.size());
  }
  text_ += '}';
  event_.json = text_;
  event_.offset = offset;
  event_.members = members_;
  return event_;
}

}  // namespace graphtag
