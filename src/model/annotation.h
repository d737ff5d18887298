// Annotations: JSON objects, each distinct one stored once.
//
//   scope {"name":"decoder","bs":8} around scope "attention", seen by a node:
//     object  {"name":"attention","bs":8}     inner keys win
//     path    ["decoder","attention"]         the names of the open scopes, outermost first: merging loses the outer name, the
//     path keeps it
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace graphtag {

enum class AnnotationId : std::uint32_t { none = 0 };

struct Annotation {
  std::unique_ptr<const Json> object;  // always a JSON object; without "graphtag.path"
  std::vector<std::string> path;       // names of the open scopes, outermost first; empty if none of them has a name
  std::string name;                    // object["name"] if that is a string, else empty
  std::optional<std::int64_t> stream;  // object["stream"] if that is an integer: the display lane asked for
  bool backward = false;               // object["autograd_phase"] == "backward"

  Annotation();
  ~Annotation();
  Annotation(Annotation&&) noexcept;
  Annotation& operator=(Annotation&&) noexcept;
};

// Entry 0 is the empty annotation. References stay valid as long as the table lives. Not for several threads at once.
class AnnotationTable {
 public:
  AnnotationTable();
  ~AnnotationTable();
  AnnotationTable(AnnotationTable&&) noexcept;
  AnnotationTable& operator=(AnnotationTable&&) noexcept;

  // The id of `object` with `path`; equal objects (in any key order) with equal paths have one id. A "graphtag.path" key in
  // `object` (an array of strings) is taken out and used as the path where `path` is not given; with neither, the path is [name]
  // if there is a name. NaN and infinities become null, as in JSON. Errors: not an object; nesting beyond 64; a "graphtag.path"
  // that is anything else.
  Result<AnnotationId> intern(Json object);
  Result<AnnotationId> intern(Json object, std::vector<std::string> path);
  // The id that intern(object) would give, if it is in the table already. Errors as intern.
  Result<std::optional<AnnotationId>> find(Json object) const;

  // `inner` laid over `outer`, key by key, paths joined; a path that begins with the whole outer path is not doubled. Memoised:
  // for a known pair this is one look-up. merge(none, x) == merge(x, none) == x.
  AnnotationId merge(AnnotationId outer, AnnotationId inner);
  // The id that merge would give, if it is in the table already.
  std::optional<AnnotationId> find_merged(AnnotationId outer, AnnotationId inner) const;

  const Annotation& operator[](AnnotationId id) const;
  std::size_t size() const;  // the empty one included

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A region's components: the path joined by dots and split at dots, where a path entry that begins with the name so far and a dot
// adds only its rest: ["model.layers.0", "model.layers.0.mlp", "gelu"] -> model, layers, 0, mlp, gelu.  Without a path, `name`
// split at dots.
std::vector<std::string> region_components(const Annotation& annotation);

}  // namespace graphtag
