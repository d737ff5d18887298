#include "trace/kineto/token_index.h"

#include <simdjson.h>

#include <memory>

namespace graphtag::kineto {

// simdjson's public parsers run this stage and then their own second one, which either builds a tree or does not check what is not asked for. A trace
// needs every token checked, no tree, and positions: so the first stage alone is taken from the parser's inside.
struct TokenIndex::Stage {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

TokenIndex::TokenIndex() : stage_(std::make_unique<Stage>()) {}
TokenIndex::~TokenIndex() = default;

std::span<const std::uint32_t> TokenIndex::find(std::string_view text) {
  auto& parser = stage_->parser;
  if (!parser || parser->capacity() < text.size()) {
    parser.reset();
    const std::size_t capacity = text.size() + text.size() / 4;
    constexpr std::size_t kDepthOfSecondStage = 1;  // which is not run
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, kDepthOfSecondStage, parser) !=
        simdjson::SUCCESS) {
      parser.reset();
      return {};
    }
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  if (parser->stage1(bytes, text.size(), simdjson::stage1_mode::regular) != simdjson::SUCCESS) return {};
  // simdjson writes the text's size behind the last position.
  return {parser->structural_indexes.get(), parser->n_structural_indexes + std::size_t{1}};
}

}  // namespace graphtag::kineto
