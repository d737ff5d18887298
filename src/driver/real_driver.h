// The CUDA driver and the CUPTI of this process: found late, by dlopen, never a second copy of what is mapped already.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace graphtag {

enum class EntryState : std::uint8_t {
  works,       // answered as expected to a harmless call
  found,       // there, and not called: no call of it is harmless
  missing,     // not in the library
  refused,     // there, but answers the harmless call with an error (`code`)
  no_library,  // the library itself was not found
};

struct EntryPoint {
  const char* name;     // "cuptiGetGraphNodeId"
  const char* library;  // "libcuda" or "libcupti"
  const char* purpose;  // what it gives, in words
  const char* since;    // the first CUDA release that has it, or 12.0: "13.1"
  EntryState state;
  std::int32_t code;  // of a refusal
};

struct LibraryFacts {
  std::string path;         // empty: not found
  bool was_mapped = false;  // it was in the process already
  int version = 0;          // cuDriverGetVersion (13000) or cuptiGetVersion (130001; 18 for CUDA 12.0)
  std::vector<std::string>
      others;  // further copies mapped into the process: their users may hold a subscription that this one cannot see
  std::vector<std::string> tried;  // where it was looked for, in order, with the loader's words
};

struct DriverFacts {
  LibraryFacts cuda, cupti;
  std::vector<EntryPoint> entry_points;
  bool can_ask_ids = false;    // node and graph ids: the least that recording needs
  bool can_subscribe = false;  // the entry points for callbacks are there; whether the subscription is free is another matter
  bool can_record = false;     // the entry points for activity records are there
  std::string unavailable;     // why can_ask_ids is false: "no libcuda"; else empty
};

struct SubscriptionFacts {
  enum class State : std::uint8_t { free, held_by_us, held, unknown } state = State::unknown;
  std::string holder;     // the name of the holder, or of the tool around the process, where CUPTI tells (13.0 and newer)
  std::int32_t code = 0;  // CUPTI's, where unknown
};

// A driver on the real libraries. What a search finds stays loaded for good.
class RealDriver {
 public:
  // The process's own, searched at the first call. While it cannot ask ids, later calls search again if libraries were mapped
  // since. What it returned stays valid for good. A child of fork() has its parent's, with no subscription.
  static const RealDriver& of_process();

  // A search of its own, for tests.
  RealDriver();
  ~RealDriver();
  RealDriver(const RealDriver&) = delete;
  RealDriver& operator=(const RealDriver&) = delete;

  Driver driver() const;
  const DriverFacts& facts() const;

  // Who holds the CUPTI subscription. Takes it for a moment if it is free, which other tools can see.
  SubscriptionFacts try_subscription() const;
  // Initialises CUDA if the program has not yet.
  DriverResult initialize_cuda() const;

  struct State;

 private:
  static void start_anew() noexcept;  // in a child of fork()

  std::unique_ptr<State> state_;
};

}  // namespace graphtag
