// No thread can be made while it lives: stacks are to be larger than there are addresses.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace graphtag::testing {

class NoNewThread {
 public:
  NoNewThread() {
    pthread_attr_t huge;
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(pthread_getattr_default_np(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoNewThread() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  NoNewThread(const NoNewThread&) = delete;
  NoNewThread& operator=(const NoNewThread&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace graphtag::testing
