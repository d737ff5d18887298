// Written-out cases that random graphs do not reach: several contexts and devices at once, graphs launched by graphs, exit with an open window.
#pragma once

namespace gpu_test {

// Runs them all with callbacks and prints a line each. 0 if every record is right and none is missing, else 1. Activity must be on.
int run_scenarios();

// Leaves a window, a scope and a capture open for the process to end with.
void leave_open();

}  // namespace gpu_test
