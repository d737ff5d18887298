// The counterpart of should_fail/: what is close to it and right.
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  static gt::Name name{"decoder.attention"};
  const std::string text = "decoder";
  gt::Scope by_name{name};
  gt::Scope by_literal{"decoder"};
  gt::Scope by_string{text};
  gt::Scope by_temporary{text + ".mlp"};  // the text is used at once, and not kept
  gt::Scope by_annotation{gt::Annotation{"decoder"}};
  std::error_code error;
  gt::Scope without_exceptions{"decoder", error};
  gt::Window window{{.observer = gt::Observer::boundary, .all_streams = true, .streams = {nullptr}}, error};
  gt::Window moved = std::move(window);
  return moved ? 1 : 0;
}
