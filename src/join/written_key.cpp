#include "join/written_key.h"

namespace graphtag {

std::string written_key(const MemberShape& shape, const std::string& key, const KeySet& keys) {
  std::string written = key;
  for (std::string longer = prefixed(key);; longer = prefixed(longer)) {
    if (keys.contains(longer)) continue;
    if (shape.index_of(longer) < 0) return written;
    written = longer;
  }
}

}  // namespace graphtag
