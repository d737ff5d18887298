/* A program that is statically linked: `graphtag run` cannot record it, and says so. With words it is a launcher: it becomes the program that they name. */
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count > 1) {
    execv(words[1], words + 1);
    perror(words[1]);
    return 127;
  }
  puts("done");
  return 5;
}
