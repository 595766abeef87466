// The memory that a program under `topdnn trace --live` writes its records into (records.h), and
// the reader of its chunks.

#ifndef TOPDNN_BENCH_LIVE_LIVE_MEMORY_H_
#define TOPDNN_BENCH_LIVE_LIVE_MEMORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/live/preloaded_program.h"
#include "bench/live/records.h"

namespace topdnn {

// Who wrote a record.
struct LiveWriter {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

// What follows a record.
struct LiveTexts {
  std::string_view text;
  std::string_view module = {};         // of the framework; empty without --modules
  std::string_view operator_name = {};  // of PyTorch; empty without --operators
};

class LiveMemory {
 public:
  using Take =
      std::function<void(LiveWriter writer, const LiveRecord& record, const LiveTexts& texts)>;

  LiveMemory();  // throws std::system_error

  LiveHead& head() { return *static_cast<LiveHead*>(memory_.data()); }
  LiveChunk& chunk(std::size_t i);
  std::string path() const { return memory_.path(); }

  // Gives the records that are new, those of a thread in their order, and frees the chunks that are
  // full or whose process has ended. Returns the number of records.
  std::int64_t Read(const Take& take);

 private:
  void ReadChunk(std::size_t i, const Take& take, std::int64_t& records);

  ProgramMemory memory_;
  std::vector<std::uint32_t> taken_;  // bytes of each chunk that are read
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_MEMORY_H_
