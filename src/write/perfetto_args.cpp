#include "write/perfetto_args.h"

#include <simdjson.h>

#include <optional>
#include <string>

#include "write/chrome_args.h"

namespace graphtag {
namespace {

namespace ondemand = simdjson::ondemand;

// A parser takes six times its text in memory.
constexpr std::size_t kTypedBytes = std::size_t{1} << 20;

simdjson::error_code write_members(ArgWriter& args, ondemand::object object);

std::string_view without_spaces(std::string_view token) {
  const auto end = token.find_last_not_of(" \t\r\n");
  return token.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

simdjson::error_code write_number(ArgWriter& args, std::string_view key, ondemand::value value) {
  ondemand::number number;
  if (value.get_number().get(number) == simdjson::SUCCESS) {
    switch (number.get_number_type()) {
      case ondemand::number_type::signed_integer:
        args.integer(key, number.get_int64());
        return simdjson::SUCCESS;
      case ondemand::number_type::unsigned_integer:
        args.unsigned_integer(key, number.get_uint64());
        return simdjson::SUCCESS;
      case ondemand::number_type::floating_point_number:
        args.real(key, number.get_double());
        return simdjson::SUCCESS;
      default:  // newer versions of simdjson know integers beyond 64 bits
        break;
    }
  }
  args.json(key, without_spaces(value.raw_json_token()));
  return simdjson::SUCCESS;
}

simdjson::error_code write_value(ArgWriter& args, std::string_view key, ondemand::value value) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  switch (type) {
    case ondemand::json_type::object: {
      ondemand::object object;
      if (const auto error = value.get_object().get(object)) return error;
      bool empty = false;
      if (const auto error = object.is_empty().get(empty)) return error;
      if (empty) {
        args.json(key, "{}");
        return simdjson::SUCCESS;
      }
      auto nested = args.dict(key);
      return write_members(nested, object);
    }
    case ondemand::json_type::array: {
      ondemand::array array;
      if (const auto error = value.get_array().get(array)) return error;
      bool empty = false;
      if (const auto error = array.is_empty().get(empty)) return error;
      if (empty) {
        args.json(key, "[]");
        return simdjson::SUCCESS;
      }
      auto nested = args.array(key);
      for (auto element : array) {
        ondemand::value item;
        if (const auto error = std::move(element).get(item)) return error;
        if (const auto error = write_value(nested, {}, item)) return error;
      }
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::number:
      return write_number(args, key, value);
    case ondemand::json_type::string: {
      std::string_view text;
      if (const auto error = value.get_string().get(text)) return error;
      args.string(key, text);
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::boolean: {
      bool truth = false;
      if (const auto error = value.get_bool().get(truth)) return error;
      args.boolean(key, truth);
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::null:
      args.json(key, "null");
      return simdjson::SUCCESS;
    default:  // newer versions of simdjson name what begins no value
      return simdjson::UNEXPECTED_ERROR;
  }
}

simdjson::error_code write_members(ArgWriter& args, ondemand::object object) {
  for (auto field : object) {
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return error;
    // The key's view lasts as long as the parser's string buffer, which grows with each string of this document.
    ondemand::value value;
    if (const auto error = std::move(field).value().get(value)) return error;
    if (const auto error = write_value(args, key, value)) return error;
  }
  return simdjson::SUCCESS;
}

}  // namespace

struct PerfettoArgs::State {
  std::optional<ChromeArgs> chrome;
  ondemand::parser parser;
  std::string text;    // of one event's args, edited
  std::string padded;  // what the parser reads

  // A document over `json`, which is an object.
  simdjson::error_code write_object(ArgWriter& args, std::string_view json) {
    padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    padded.assign(json);
    ondemand::document document;
    if (const auto error = parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document)) return error;
    ondemand::object object;
    if (const auto error = document.get_object().get(object)) return error;
    return write_members(args, object);
  }

  std::string_view edited_args(const NamedEvent& named) {
    const Event& event = named.event;
    const auto original = event.text(event.args);
    const auto edits = chrome->edits_for(named);
    std::uint32_t copied = event.args.begin;
    text.clear();
    for (const auto& edit : edits) {
      if (edit.begin <= event.args.begin || edit.end >= event.args.end) continue;  // outside args
      text.append(event.json, copied, edit.begin - copied);
      text.append(edit.text);
      copied = edit.end;
    }
    if (copied == event.args.begin) return original;
    text.append(event.json, copied, event.args.end - copied);
    return text;
  }
};

PerfettoArgs::PerfettoArgs() : state_(std::make_unique<State>()) {}
PerfettoArgs::~PerfettoArgs() = default;

void PerfettoArgs::begin(const AnnotatedTrace& trace) {
  state_->chrome.emplace(trace);
}

void PerfettoArgs::write_event(ArgWriter& args, const NamedEvent& named) {
  if (!named.event.has_args) return;
  const auto json = state_->edited_args(named);
  if (json.size() > kTypedBytes || state_->write_object(args, json) != simdjson::SUCCESS) args.json("args", json);
}

void PerfettoArgs::write_json(ArgWriter& args, std::string_view key, std::string_view json) {
  if (json.size() > kTypedBytes) {
    args.json(key, json);
    return;
  }
  // As an object of one member, so that scalars need no path of their own.
  state_->text = "{\"\":";
  state_->text += json;
  state_->text += '}';
  ondemand::document document;
  ondemand::value value;
  auto& padded = state_->padded;
  padded.reserve(state_->text.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(state_->text);
  auto error = state_->parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document);
  if (!error) error = document[""].get(value);
  if (!error) error = write_value(args, key, value);
  if (error) args.json(key, json);
}

}  // namespace graphtag
