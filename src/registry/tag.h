// A node's annotation and how it came to it, or why it has none, in 32 bits.
#pragma once

#include <cstdint>

#include "model/annotation.h"
#include "model/annotation_file.h"

namespace graphtag {

class Tag {
 public:
  static constexpr int kAnnotationBits = 28;

  // `annotation` must fit kAnnotationBits; `origin` is a reason where there is no annotation.
  constexpr Tag(AnnotationId annotation, Origin origin)
      : bits_(static_cast<std::uint32_t>(annotation) | static_cast<std::uint32_t>(origin) << kAnnotationBits) {}
  constexpr explicit Tag(Origin reason) : Tag(AnnotationId::none, reason) {}

  constexpr AnnotationId annotation() const { return AnnotationId{bits_ & ((1u << kAnnotationBits) - 1)}; }
  constexpr Origin origin() const { return static_cast<Origin>(bits_ >> kAnnotationBits); }
  constexpr bool is_none() const { return annotation() == AnnotationId::none; }
  constexpr std::uint32_t bits() const { return bits_; }
  bool operator==(const Tag&) const = default;

 private:
  std::uint32_t bits_;
};

// A name that came by several steps is worth what the weakest of them is.
constexpr int weakness(Origin provenance) {
  switch (provenance) {
    case Origin::callback:
      return 0;
    case Origin::boundary:
      return 1;
    case Origin::updated:
      return 2;
    case Origin::boundary_approximate:
      return 3;
    default:
      return 4;
  }
}
constexpr Origin weaker(Origin a, Origin b) {
  return weakness(a) < weakness(b) ? b : a;
}

// `tag` after one more step of the provenance `how`; a reason stays what it is.
constexpr Tag qualified(Tag tag, Origin how) {
  return tag.is_none() ? tag : Tag{tag.annotation(), weaker(tag.origin(), how)};
}

}  // namespace graphtag
