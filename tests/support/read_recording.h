// Reads a recording from memory and keeps all that is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tests/support/named_events.h"
#include "trace/perfetto/perfetto_reader.h"

namespace graphtag::test {

inline NamedReading read_recording(const std::string& bytes, std::span<const std::size_t> chunks = {}, bool survey = false,
                                   std::optional<std::int64_t> process = {}) {
  NamedReading reading;
  NamedCollector collector(reading);
  const auto source = memory_source(bytes, chunks);
  ReadOptions options;
  options.survey = survey;
  options.process = process;
  const auto again = [&bytes]() -> Result<OpenedSource> { return OpenedSource{memory_source(bytes), bytes.size(), false}; };
  if (const auto done = read_perfetto(*source, again, "a.pftrace", collector, options, reading.result); !done)
    reading.error = done.error().to_string();
  return reading;
}

}  // namespace graphtag::test
