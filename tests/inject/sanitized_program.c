/* A program with AddressSanitizer, which ends at once if something was loaded before its runtime library. */
#include <stdio.h>

int main(void) {
  puts("done");
  return 6;
}
