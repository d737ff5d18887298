#include "model/pickle.h"

#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "model/ids.h"
#include "model/pickle_opcodes.h"
#include "model/pickle_text.h"

namespace graphtag {
namespace {

// A hostile byte may cost a hundred in memory, so all that grows has a bound.
constexpr std::size_t kContainerLimit = std::size_t{8} << 20;
constexpr std::size_t kStackLimit = std::size_t{8} << 20;
constexpr std::size_t kMemoLimit = std::size_t{8} << 20;
constexpr std::size_t kItemLimit = std::size_t{32} << 20;
constexpr std::size_t kMarkLimit = 1024;

constexpr const char* kAdvice = "; only plain dicts, lists, strings and numbers are read: write the file anew as such";

// The globals that may be named, to be called in the two ways that Reader::reduce allows.
enum Global : std::uint32_t { kOrderedDict, kDefaultDict, kFactory };

std::optional<Global> find_global(std::string_view module, std::string_view name) {
  if (module == "collections" && name == "OrderedDict") return kOrderedDict;
  if (module == "collections" && name == "defaultdict") return kDefaultDict;
  const bool is_builtin = module == "builtins" || module == "__builtin__";
  if (is_builtin && (name == "list" || name == "dict" || name == "int")) return kFactory;
  if (module == "__builtin__" && name == "long") return kFactory;  // what Python 3 calls int in protocols 0 to 2
  return {};
}

// Text of the file as it may stand in a message.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 60 ? out + "..." : out;
}

PickleValue integer(std::int64_t value) {
  PickleValue result;
  result.integer = value;
  result.kind = PickleKind::integer;
  return result;
}

PickleValue unsigned_integer(std::uint64_t value) {
  if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
  PickleValue result;
  result.unsigned_integer = value;
  result.kind = PickleKind::unsigned_integer;
  return result;
}

PickleValue boolean(bool value) {
  PickleValue result;
  result.boolean = value;
  result.kind = PickleKind::boolean;
  return result;
}

PickleValue floating(double value) {
  PickleValue result;
  result.floating = value;
  result.kind = PickleKind::floating;
  return result;
}

// All of `text`, or nothing.
template <typename T>
std::optional<T> parse_number(std::string_view text, std::errc* why = nullptr) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != nullptr) *why = code;
  if (code != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

class Reader {
 public:
  Reader(std::string_view content, const std::string& file) : content_(content), file_(file) {}

  Result<Pickle> read() {
    for (;;) {
      op_offset_ = position_;
      if (position_ == content_.size()) {
        fail(ErrorCode::malformed, "the pickle is cut off: it ends before STOP; copy or write the file again");
        break;
      }
      const auto code = static_cast<std::uint8_t>(content_[position_++]);
      if (code == static_cast<std::uint8_t>(PickleOp::kStop)) {
        if (!pop(pickle_.root)) break;
        pickle_.size_bytes = position_;
        return std::move(pickle_);
      }
      if (!step(code)) break;
    }
    return std::move(error_);
  }

 private:
  bool step(std::uint8_t code);

  bool fail(ErrorCode code, std::string what) {
    if (op_offset_ < content_.size()) {
      const auto name = pickle_op_name(static_cast<std::uint8_t>(content_[op_offset_]));
      if (name) what = std::string(*name) + ": " + what;
    }
    error_ = {code, std::move(what), file_, op_offset_};
    return false;
  }
  bool malformed(std::string what) { return fail(ErrorCode::malformed, std::move(what)); }
  bool too_many(const char* what, std::size_t limit) {
    return fail(ErrorCode::too_large, "more than " + std::to_string(limit) + " " + what + "; split the file");
  }

  // Arguments of opcodes.
  bool take(std::uint64_t size, std::string_view& out) {
    if (size > content_.size() - position_) {
      return malformed("the pickle is cut off: " + std::to_string(size) + " bytes should follow, " +
                       std::to_string(content_.size() - position_) + " do; copy or write the file again");
    }
    out = content_.substr(position_, size);
    position_ += size;
    return true;
  }
  bool take_line(std::string_view& out) {
    const auto end = content_.find('\n', position_);
    if (end == std::string_view::npos) return malformed("the pickle is cut off within a line; copy or write the file again");
    out = content_.substr(position_, end - position_);
    position_ = end + 1;
    return true;
  }
  bool take_number(std::size_t bytes, std::uint64_t& out) {  // little-endian
    std::string_view text;
    if (!take(bytes, text)) return false;
    out = 0;
    for (std::size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<unsigned char>(text[i]);
    return true;
  }

  // The stack. A mark shuts off what lies below it.
  bool push(const PickleValue& value) {
    if (stack_.size() == kStackLimit) return too_many("values in one container", kStackLimit);
    stack_.push_back(value);
    return true;
  }
  bool has(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    return stack_.size() - floor >= count || malformed("the stack is empty here; the file is damaged");
  }
  bool pop(PickleValue& value) {
    if (!has(1)) return false;
    value = stack_.back();
    stack_.pop_back();
    return true;
  }
  bool pop_mark(std::size_t& first) {
    if (marks_.empty()) return malformed("no MARK before it; the file is damaged");
    first = marks_.back();
    marks_.pop_back();
    return true;
  }

  // A new container of the stack's values from `first` on.
  bool push_container(PickleKind kind, std::size_t first) {
    if (pickle_.containers.size() == kContainerLimit) return too_many("lists, tuples and dicts", kContainerLimit);
    PickleValue value;
    value.kind = kind;
    value.index = static_cast<std::uint32_t>(pickle_.containers.size());
    pickle_.containers.emplace_back();
    return add_items(value, first) && push(value);
  }
  bool push_empty(PickleKind kind) { return push_container(kind, stack_.size()); }

  // Moves the stack's values from `first` on into the container.
  bool add_items(const PickleValue& container, std::size_t first) {
    const std::size_t count = stack_.size() - first;
    if (container.kind == PickleKind::dict && count % 2 != 0) return malformed("a key without a value; the file is damaged");
    items_ += count;
    if (items_ > kItemLimit) return too_many("values", kItemLimit);
    auto& items = pickle_.containers[container.index];
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    stack_.resize(first);
    return true;
  }
  // The same into the container that lies below `first`.
  bool extend(PickleKind kind, std::size_t first) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (first <= floor || stack_[first - 1].kind != kind) {
      return malformed(kind == PickleKind::list ? "no list below its values; the file is damaged"
                                                : "no dict below its values; the file is damaged");
    }
    const PickleValue container = stack_[first - 1];
    return add_items(container, first);
  }
  bool extend_last(PickleKind kind, std::size_t count) { return has(count) && extend(kind, stack_.size() - count); }
  bool extend_marked(PickleKind kind) {
    std::size_t first = 0;
    return pop_mark(first) && extend(kind, first);
  }

  bool push_string(std::string_view text) {
    if (!is_utf8(text)) return malformed("a string that is not UTF-8; write the file anew with str, not bytes");
    PickleValue value;
    value.kind = PickleKind::string;
    value.text = text.data();
    value.index = static_cast<std::uint32_t>(text.size());  // fits: the content is bounded by 256 MiB
    return push(value);
  }
  bool push_unescaped(std::optional<std::string> text) {
    if (!text) return malformed("a string that is not valid in this form, or not Unicode; the file is damaged");
    return push_string(pickle_.unescaped.emplace_back(*std::move(text)));
  }
  bool push_sized_string(std::size_t length_bytes) {
    std::uint64_t size = 0;
    std::string_view text;
    return take_number(length_bytes, size) && take(size, text) && push_string(text);
  }

  bool push_decimal(std::string_view text) {
    std::errc why{};
    if (const auto value = parse_number<std::int64_t>(text, &why)) return push(integer(*value));
    if (const auto value = parse_number<std::uint64_t>(text)) return push(unsigned_integer(*value));
    if (why != std::errc::result_out_of_range) return malformed("not a number: \"" + shown(text) + "\"; the file is damaged");
    return beyond_64_bits(shown(text));
  }
  bool beyond_64_bits(const std::string& what) {
    return fail(ErrorCode::too_large, "integer " + what + " does not fit into 64 bits; write it as a string");
  }
  // Two's complement, little-endian.
  bool push_bytes_integer(std::string_view bytes) {
    const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    const char sign = is_negative ? '\xff' : '\0';
    std::string_view rest = bytes;
    while (rest.size() > 8 && rest.back() == sign) rest.remove_suffix(1);
    std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = std::min<std::size_t>(rest.size(), 8); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(rest[i]);
    const bool fits = rest.size() <= 8 && (!is_negative || value > INT64_MAX);
    if (!fits) return beyond_64_bits("of " + std::to_string(bytes.size()) + " bytes");
    return push(is_negative ? integer(static_cast<std::int64_t>(value)) : unsigned_integer(value));
  }

  bool store(std::uint64_t index) {
    if (!has(1)) return false;
    if (memo_.size() == kMemoLimit) return too_many("memo entries", kMemoLimit);
    memo_.insert_or_assign(index, stack_.back());
    return true;
  }
  bool recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) return malformed("memo entry " + std::to_string(index) + " was never stored; the file is damaged");
    return push(found->second);
  }
  bool take_decimal_index(std::uint64_t& index) {
    std::string_view line;
    if (!take_line(line)) return false;
    const auto value = parse_number<std::uint64_t>(line);
    if (!value) return malformed("not a memo index: \"" + shown(line) + "\"; the file is damaged");
    index = *value;
    return true;
  }

  bool push_global(std::string_view module, std::string_view name) {
    const auto global = find_global(module, name);
    if (!global)
      return fail(ErrorCode::refused, "names " + shown(module) + "." + shown(name) + ", which could run code" + kAdvice);
    PickleValue value;
    value.kind = PickleKind::global;
    value.index = *global;
    value.offset = op_offset_;
    return push(value);
  }
  // Lets through collections.OrderedDict() and collections.defaultdict(list | dict | int).
  bool reduce() {
    PickleValue arguments, callable;
    if (!pop(arguments) || !pop(callable)) return false;
    if (callable.kind == PickleKind::global && arguments.kind == PickleKind::tuple) {
      const auto items = pickle_.items(arguments);
      if (callable.index == kOrderedDict && items.empty()) return push_empty(PickleKind::dict);
      const bool is_factory = items.size() == 1 && items[0].kind == PickleKind::global && items[0].index == kFactory;
      if (callable.index == kDefaultDict && is_factory) return push_empty(PickleKind::dict);
    }
    return fail(ErrorCode::refused,
                std::string("calls something other than an empty OrderedDict or a defaultdict of list, dict or int") + kAdvice);
  }

  std::string_view content_;
  const std::string& file_;
  std::size_t position_ = 0;
  std::size_t op_offset_ = 0;
  Pickle pickle_;
  std::size_t items_ = 0;  // in all containers
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;                              // sizes of the stack, ascending
  boost::unordered_flat_map<std::uint64_t, PickleValue> memo_;  // memo index -> value
  Error error_;
};

bool Reader::step(std::uint8_t code) {
  std::string_view text;
  std::uint64_t number = 0;
  std::size_t first = 0;
  PickleValue value;
  switch (static_cast<PickleOp>(code)) {
    case PickleOp::kProto:
      if (!take_number(1, number)) return false;
      if (number <= 5) return true;
      return fail(ErrorCode::unsupported,
                  "protocol " + std::to_string(number) + " is not known; write the file with protocol=5 or below");
    case PickleOp::kFrame:
      if (!take_number(8, number)) return false;
      return number <= content_.size() - position_ ||
             malformed("the pickle is cut off within a frame; copy or write the file again");

    case PickleOp::kMark:
      if (marks_.size() == kMarkLimit) return too_many("open MARKs", kMarkLimit);
      marks_.push_back(stack_.size());
      return true;
    case PickleOp::kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      return pop(value);
    case PickleOp::kPopMark:
      if (!pop_mark(first)) return false;
      stack_.resize(first);
      return true;
    case PickleOp::kDup:
      if (!has(1)) return false;
      value = stack_.back();
      return push(value);

    case PickleOp::kNone:
      return push(value);
    case PickleOp::kNewTrue:
      return push(boolean(true));
    case PickleOp::kNewFalse:
      return push(boolean(false));
    case PickleOp::kInt:
      if (!take_line(text)) return false;
      if (text == "00" || text == "01") return push(boolean(text == "01"));
      return push_decimal(text);
    case PickleOp::kLong:
      if (!take_line(text)) return false;
      if (text.ends_with('L')) text.remove_suffix(1);
      return push_decimal(text);
    case PickleOp::kBinInt:
      return take(4, text) && push_bytes_integer(text);
    case PickleOp::kBinInt1:
      return take_number(1, number) && push(unsigned_integer(number));
    case PickleOp::kBinInt2:
      return take_number(2, number) && push(unsigned_integer(number));
    case PickleOp::kLong1:
      return take_number(1, number) && take(number, text) && push_bytes_integer(text);
    case PickleOp::kLong4:
      return take_number(4, number) && take(number, text) && push_bytes_integer(text);
    case PickleOp::kFloat: {
      if (!take_line(text)) return false;
      const auto parsed = parse_number<double>(text);
      return parsed ? push(floating(*parsed)) : malformed("not a number: \"" + shown(text) + "\"; the file is damaged");
    }
    case PickleOp::kBinFloat:
      if (!take(8, text)) return false;
      for (const char byte : text) number = number << 8 | static_cast<unsigned char>(byte);
      return push(floating(std::bit_cast<double>(number)));

    case PickleOp::kString:
      return take_line(text) && push_unescaped(unescape_pickle_string(text));
    case PickleOp::kUnicode:
      return take_line(text) && push_unescaped(unescape_pickle_unicode(text));
    case PickleOp::kBinString:
    case PickleOp::kBinUnicode:
      return push_sized_string(4);
    case PickleOp::kShortBinString:
    case PickleOp::kShortBinUnicode:
      return push_sized_string(1);
    case PickleOp::kBinUnicode8:
      return push_sized_string(8);

    case PickleOp::kEmptyList:
      return push_empty(PickleKind::list);
    case PickleOp::kEmptyTuple:
      return push_empty(PickleKind::tuple);
    case PickleOp::kEmptyDict:
      return push_empty(PickleKind::dict);
    case PickleOp::kList:
      return pop_mark(first) && push_container(PickleKind::list, first);
    case PickleOp::kTuple:
      return pop_mark(first) && push_container(PickleKind::tuple, first);
    case PickleOp::kDict:
      return pop_mark(first) && push_container(PickleKind::dict, first);
    case PickleOp::kTuple1:
      return has(1) && push_container(PickleKind::tuple, stack_.size() - 1);
    case PickleOp::kTuple2:
      return has(2) && push_container(PickleKind::tuple, stack_.size() - 2);
    case PickleOp::kTuple3:
      return has(3) && push_container(PickleKind::tuple, stack_.size() - 3);
    case PickleOp::kAppend:
      return extend_last(PickleKind::list, 1);
    case PickleOp::kSetItem:
      return extend_last(PickleKind::dict, 2);
    case PickleOp::kAppends:
      return extend_marked(PickleKind::list);
    case PickleOp::kSetItems:
      return extend_marked(PickleKind::dict);

    case PickleOp::kPut:
      return take_decimal_index(number) && store(number);
    case PickleOp::kBinPut:
      return take_number(1, number) && store(number);
    case PickleOp::kLongBinPut:
      return take_number(4, number) && store(number);
    case PickleOp::kMemoize:
      return store(memo_.size());
    case PickleOp::kGet:
      return take_decimal_index(number) && recall(number);
    case PickleOp::kBinGet:
      return take_number(1, number) && recall(number);
    case PickleOp::kLongBinGet:
      return take_number(4, number) && recall(number);

    case PickleOp::kGlobal: {
      std::string_view name;
      return take_line(text) && take_line(name) && push_global(text, name);
    }
    case PickleOp::kStackGlobal: {
      PickleValue name;
      if (!pop(name) || !pop(value)) return false;
      if (name.kind != PickleKind::string || value.kind != PickleKind::string)
        return malformed("no names before it; the file is damaged");
      return push_global(Pickle::text(value), Pickle::text(name));
    }
    case PickleOp::kReduce:
      return reduce();
    case PickleOp::kStop:
      break;  // read() ends there
  }
  if (const auto danger = pickle_op_danger(code)) return fail(ErrorCode::refused, std::string(*danger) + kAdvice);
  return malformed("byte " + std::to_string(code) + " is no pickle opcode; the file is damaged, or no pickle");
}

}  // namespace

Result<Pickle> read_pickle(std::string_view content, const std::string& file) {
  return Reader(content, file).read();
}

}  // namespace graphtag
