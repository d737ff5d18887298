// What libgraphtag_guard.so has for whoever records in its process. It is looked up by name, as nobody is linked with it.
#pragma once

namespace graphtag::guard {

// Called on the program's own thread when the program asks CUPTI for its subscription or its records: when it returns, they are free.
using MakeWay = void (*)();

// The function of this name: from now on `make_way` is called.
constexpr const char* kWatch = "graphtag_guard_watch";
using Watch = void (*)(MakeWay make_way);

}  // namespace graphtag::guard
