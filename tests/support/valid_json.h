// Whether a text is JSON by its grammar.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace graphtag::test {

// nlohmann's parser, but for its refusal of numbers that no double holds (1e999), which the grammar has.
inline bool valid_json(std::string_view text) {
  struct Sax : nlohmann::json_sax<nlohmann::json> {
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(std::int64_t) override { return true; }
    bool number_unsigned(std::uint64_t) override { return true; }
    bool number_float(double, const std::string&) override { return true; }
    bool string(std::string&) override { return true; }
    bool binary(nlohmann::json::binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(std::string&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
      constexpr int kNumberOverflow = 406;
      return error.id == kNumberOverflow;
    }
  } sax;
  return nlohmann::json::sax_parse(text, &sax);
}

}  // namespace graphtag::test
