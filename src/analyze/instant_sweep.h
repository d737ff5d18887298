// What is active at each instant of one device: shares of rows, and the budget of the window.
//
// Between two changes of the active set, d ns long with k records active, each gets d / k ns and the one that started first the remainder.
// d / k is the same for all of them, so one running sum Q of d / k serves all: a record's part is Q(its end) - Q(its start). That is exact, and costs
// the same whether two records overlap or a hundred thousand.
//
//   us       0    20   30   40   50
//   q        [----)                        k = 1
//   o             [---------)              k = 1, then 2:  10 + 5
//   mlp                [---------)         5 + 10
#pragma once

#include <cstdint>
#include <vector>

namespace graphtag {

enum class Activity : std::uint8_t { compute, comm, copy };

struct Budget {
  std::int64_t busy_ns = 0;
  std::int64_t compute_ns = 0;       // some kernel that is no communication is active
  std::int64_t exposed_comm_ns = 0;  // communication is, no compute
  std::int64_t exposed_copy_ns = 0;  // only copies and memsets are
  std::int64_t attributed_ns = 0;    // a record with an annotation is
};

class InstantSweep {
 public:
  explicit InstantSweep(std::size_t rows) : shares_(rows) {}

  // Records of one device by start, of those that start together the first counts as first; end_ns > start_ns.
  void add(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t row, Activity activity, bool attributed);
  // Closes the device: the next record may start at any time.
  void finish_device();

  const Budget& budget() const { return budget_; }  // of all devices
  std::int64_t share_ns(std::uint32_t row) const { return static_cast<std::int64_t>(shares_[row]); }

 private:
  // An active record; the list of them is in order of start.
  struct Record {
    std::uint32_t previous, next;
    std::uint32_t row;
    Activity activity;
    bool attributed;
  };
  struct End {
    std::int64_t end_ns;
    std::uint32_t slot;
  };
  void close_instant(std::int64_t now_ns);
  void retire(std::uint32_t slot);
  void advance(std::int64_t now_ns);

  std::int64_t now_ns_ = 0;
  std::uint64_t quotients_ = 0;        // Q; it and the shares wrap round on the way, their differences are right
  std::vector<std::uint64_t> shares_;  // index: row
  std::vector<Record> records_;        // slots
  std::vector<std::uint32_t> free_;    // slots
  std::vector<End> ends_;              // heap, earliest end first
  std::uint32_t first_ = 0xffffffff, last_ = 0xffffffff;  // of the list
  std::uint64_t active_by_activity_[3] = {};
  std::uint64_t active_attributed_ = 0;
  Budget budget_;
};

}  // namespace graphtag
