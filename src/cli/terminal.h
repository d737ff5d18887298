// What the place that output goes to can show.
#pragma once

#include <string>

#include "cli/arguments.h"

namespace graphtag::cli {

// `fd` is a terminal.
bool is_terminal(int fd);
// Columns of the terminal; COLUMNS where it is set; 100 where there is neither.
int terminal_width(int fd);
// --color, then NO_COLOR (not empty), then CLICOLOR_FORCE (not 0), then: a terminal that is not TERM=dumb.
bool use_color(When asked, int fd);
// The locale says UTF-8.
bool is_utf8_locale();

}  // namespace graphtag::cli
