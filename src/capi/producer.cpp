#include "capi/producer.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/rank_variables.h"
#include "base/unix_time.h"
#include "base/version.h"
#include "driver/device_uuid.h"
#include "driver/real_driver.h"

namespace graphtag::capi {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string{};
}

std::optional<std::int64_t> rank_of_process() {
  for (const char* variable : kRankVariables) {
    const char* text = std::getenv(variable);
    if (text == nullptr) continue;
    std::int64_t rank = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, rank);
    if (error == std::errc{} && stop == end && text != end) return rank;
  }
  return {};
}

std::vector<std::string> device_uuids(const Driver& driver) {
  std::vector<std::string> uuids;
  int count = 0;
  if (!driver.device_count(count).ok()) return uuids;
  for (int device = 0; device < count; ++device) {
    std::uint8_t uuid[16] = {};
    if (driver.device_uuid(device, uuid).ok()) uuids.push_back(uuid_text(uuid));
  }
  return uuids;
}

}  // namespace

Producer this_producer(const RecorderCounters& seen, const RegistryCounters& kept) {
  Producer producer;
  producer.tool = "graphtag " + std::string(kVersion);
  producer.host = host_name();
  producer.pid = getpid();
  producer.rank = rank_of_process();
  if (seen.nodes_seen != 0) {
    producer.observer = "callback";
  } else if (seen.boundaries_read != 0) {
    producer.observer = "boundary";
  }
  const std::pair<const char*, std::uint64_t> counts[] = {{"windows_opened", seen.windows_opened},
                                                          {"scopes_begun", seen.scopes_begun},
                                                          {"nodes_seen", seen.nodes_seen},
                                                          {"boundaries_read", seen.boundaries_read},
                                                          {"failures", seen.failures},
                                                          {"lost", kept.lost},
                                                          {"dropped", kept.dropped},
                                                          {"late", kept.late},
                                                          {"stale", kept.stale}};
  for (const auto& [name, count] : counts) {
    if (count != 0) producer.counts[name] = count;
  }
  const RealDriver& real = RealDriver::of_process();
  const DriverFacts& facts = real.facts();
  if (!facts.can_ask_ids) return producer;
  const Driver driver = real.driver();
  producer.device_uuids = device_uuids(driver);
  producer.driver_version = facts.cuda.version;
  if (facts.cupti.path.empty()) return producer;
  producer.cupti_version = facts.cupti.version;
  producer.cupti_path = facts.cupti.path;
  // CUPTI's clock starts CUPTI up, which a program that never used it should not pay for.
  std::uint64_t cupti_ns = 0;
  if (seen.windows_opened == 0) return producer;
  const std::int64_t before = unix_time_ns();
  if (driver.timestamp_ns(cupti_ns).ok()) {
    producer.clock_unix_ns = before + (unix_time_ns() - before) / 2;
    producer.clock_cupti_ns = static_cast<std::int64_t>(cupti_ns);
  }
  return producer;
}

}  // namespace graphtag::capi
