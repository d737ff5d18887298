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

std::vector<std::string> keys_written_as(const MemberShape& shape, const std::string& written, const KeySet& candidates,
                                         const KeySet& keys) {
  std::vector<std::string> found;
  for (std::string key = written;; key.erase(0, kKeyPrefix.size())) {
    if (candidates.contains(key) && written_key(shape, key, keys) == written) found.push_back(key);
    // A shorter key is written like this only if every form between them is taken.
    if (!key.starts_with(kKeyPrefix) || (shape.index_of(key) < 0 && !keys.contains(key))) return found;
  }
}

}  // namespace graphtag
