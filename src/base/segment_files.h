// The files of a ring of segments, told by their names: of app.pftrace these are app.1.pftrace, app.2.pftrace ...
#pragma once

#include <cstdint>
#include <string>

namespace graphtag {

std::string segment_path(const std::string& path, std::uint32_t number);

// Whether there is any segment of `path`: of a ring that has gone on the first ones are not there any more.
bool has_segments(const std::string& path);

// Removes the segments from number `first` on: what an earlier recording of this name has left. Files that are not named exactly so stay, and so
// does whatever is no regular file. What cannot be removed stays without a word.
void remove_segments(const std::string& path, std::uint32_t first);

}  // namespace graphtag
