#include "base/json.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/object_filler.h"

namespace graphtag {
namespace {

// Builds the value from the parser's events, so that what goes beyond the limits is refused before it is built.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  // An integer beyond 64 bits comes as a double whose text has no '.', 'e' or 'E'.
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") != std::string::npos) return put(value);
    return refuse("integer " + text.substr(0, 40) + " does not fit into 64 bits; write it as a string");
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary values are not JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::detail::exception& exception) override {
    const std::string_view what = exception.what();
    const auto detail = what.rfind("; ");
    error = {ErrorCode::malformed,
             "not valid JSON near \"" + last_token.substr(0, 40) +
                 "\": " + std::string(detail == std::string_view::npos ? what : what.substr(detail + 2)),
             {},
             position == 0 ? 0 : position - 1};
    return false;
  }

  Json root;
  Error error;

 private:
  bool refuse(std::string message) {
    error = {ErrorCode::too_large, std::move(message), {}, {}};
    return false;
  }
  // Of a key that comes twice the last value counts.
  Json* place(Json item) {
    if (open_.empty()) return &(root = std::move(item));
    Open& parent = open_.back();
    if (parent.container->is_array()) return &parent.container->emplace_back(std::move(item));
    return &parent.filler.set(key_, std::move(item));
  }
  bool count() {
    if (++values_ <= limits_.values) return true;
    return refuse("more than " + std::to_string(limits_.values) + " values");
  }
  bool put(Json item) {
    if (!count()) return false;
    place(std::move(item));
    return true;
  }
  bool open(Json item) {
    if (!count()) return false;
    if (open_.size() >= static_cast<std::size_t>(limits_.nesting)) {
      return refuse("arrays and objects nested deeper than " + std::to_string(limits_.nesting));
    }
    Json* container = place(std::move(item));
    open_.push_back({container, ObjectFiller(*container)});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  struct Open {
    Json* container;
    ObjectFiller filler;  // for an object
  };

  JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<Open> open_;  // containers being filled, outermost first; a parent grows only while its children are closed
  std::string key_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Error{ErrorCode::too_large,
                 "JSON text of " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(limits.bytes),
                 file,
                 {}};
  }
  Builder builder(limits);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  builder.error.file = file;
  return std::move(builder.error);
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string canonical_json(const Json& value) {
  // nlohmann::json keeps its keys sorted.
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace graphtag
