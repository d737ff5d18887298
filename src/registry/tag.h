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

// Whether it may be wrong: a rule of numbering or a reading that may be off stands behind it.
constexpr bool is_guess(Origin origin) {
  return origin == Origin::boundary_approximate || origin == Origin::modelled || origin == Origin::outside_scope_approximate;
}

// Whether it says something of the node, and is no guess.
constexpr bool is_sure(Origin origin) {
  return origin == Origin::outside_scope || (is_provenance(origin) && !is_guess(origin));
}

// `tag` after one more step of the provenance `how`. Outside every scope is a finding too, and becomes one that may be wrong; the other
// reasons stay what they are.
constexpr Tag qualified(Tag tag, Origin how) {
  if (!tag.is_none()) return {tag.annotation(), weaker(tag.origin(), how)};
  return tag.origin() == Origin::outside_scope && is_guess(how) ? Tag{Origin::outside_scope_approximate} : tag;
}

}  // namespace graphtag
