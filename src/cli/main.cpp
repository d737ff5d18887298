#include "cli/commands.h"

int main(int argc, char** argv) {
  return graphtag::cli::run(argc, argv);
}
