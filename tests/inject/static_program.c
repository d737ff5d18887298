/* A program that is statically linked: `graphtag run` cannot record it, and says so. */
#include <stdio.h>

int main(void) {
  puts("done");
  return 5;
}
