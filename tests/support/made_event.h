// Events for tests of what consumes them, made without a reader: the text and where its parts lie in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "join/annotate.h"

namespace graphtag::testing {

class MadeEvent {
 public:
  std::string name = "k", category = "kernel", phase = "X";
  std::string pid = "0", tid = "7";  // tokens
  std::optional<std::int64_t> start_ns = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::pair<std::string, std::string>> args;  // key, JSON text
  EventKind kind = EventKind::kernel;
  std::uint64_t graph_id = 0;
  std::optional<std::uint64_t> correlation;
  AnnotationId annotation = AnnotationId::none;
  std::optional<std::int64_t> lane;

  Result<void> give_to(NamedEventConsumer& consumer) {
    text_ = "{";
    Event event;
    const auto add = [this](const char* key, const std::string& token) {
      text_ += (text_.size() > 1 ? ", \"" : "\"") + std::string{key} + "\": ";
      const auto begin = static_cast<std::uint32_t>(text_.size());
      text_ += token;
      return TextSpan{begin, static_cast<std::uint32_t>(text_.size())};
    };
    add("ph", '"' + phase + '"');
    event.category = add("cat", '"' + category + '"');
    event.name = add("name", '"' + name + '"');
    event.pid = add("pid", pid);
    event.tid = add("tid", tid);
    std::vector<Member> members;
    if (!args.empty()) {
      text_ += ", \"args\": ";
      event.args.begin = static_cast<std::uint32_t>(text_.size());
      text_ += "{";
      for (const auto& [key, value] : args) {
        if (!members.empty()) text_ += ", ";
        const auto key_begin = static_cast<std::uint32_t>(text_.size() + 1);
        text_ += '"' + key + "\": ";
        const auto value_begin = static_cast<std::uint32_t>(text_.size());
        text_ += value;
        members.push_back({{key_begin, key_begin + static_cast<std::uint32_t>(key.size())},
                           {value_begin, static_cast<std::uint32_t>(text_.size())}});
      }
      text_ += "}";
      event.args.end = static_cast<std::uint32_t>(text_.size());
      event.has_args = true;
    }
    text_ += "}";
    event.json = text_;
    event.members = members;
    event.kind = kind;
    event.phase = phase.empty() ? '\0' : phase[0];
    event.start_ns = start_ns;
    event.duration_ns = duration_ns;
    event.graph_id = graph_id;
    event.has_node_id = graph_id != 0;
    event.correlation = correlation;
    return consumer.event({event, annotation, Origin::callback, lane});
  }

 private:
  std::string text_;
};

}  // namespace graphtag::testing
