#include "bench/live/live_memory.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace topdnn {

namespace {

constexpr std::size_t kBytes = std::size_t{LIVE_CHUNKS + 1} * LIVE_CHUNK_BYTES;

}  // namespace

LiveMemory::LiveMemory()
    : memory_("topdnn-live", "--live: memory for the records", kBytes), taken_(LIVE_CHUNKS) {
  head().version = LIVE_VERSION;
}

LiveChunk& LiveMemory::chunk(std::size_t i) {
  return *reinterpret_cast<LiveChunk*>(static_cast<char*>(memory_.data()) +
                                       (i + 1) * LIVE_CHUNK_BYTES);
}

std::int64_t LiveMemory::Read(const Take& take) {
  // A thread takes a chunk only after it has filled the one before. So in the order of the chunks
  // the records of each thread are in order, too.
  std::vector<std::pair<std::uint64_t, std::size_t>> written;
  for (std::size_t i = 0; i < LIVE_CHUNKS; ++i) {
    if (__atomic_load_n(&chunk(i).state, __ATOMIC_ACQUIRE) == LIVE_FREE) continue;
    written.emplace_back(__atomic_load_n(&chunk(i).order, __ATOMIC_ACQUIRE), i);
  }
  std::sort(written.begin(), written.end());
  std::int64_t records = 0;
  for (const auto& [order, i] : written) ReadChunk(i, take, records);
  return records;
}

void LiveMemory::ReadChunk(std::size_t i, const Take& take, std::int64_t& records) {
  LiveChunk& chunk = this->chunk(i);
  // In this order: what is read after the end of the writer is all that it wrote.
  const auto owner = static_cast<pid_t>(chunk.process);
  const bool done = __atomic_load_n(&chunk.state, __ATOMIC_ACQUIRE) == LIVE_DONE ||
                    (owner != 0 && kill(owner, 0) != 0 && errno == ESRCH);
  // (the program may write anything into its memory: no record leads outside of the chunk)
  const std::uint32_t used =
      std::clamp<std::uint32_t>(__atomic_load_n(&chunk.used, __ATOMIC_ACQUIRE), taken_[i],
                                LIVE_CHUNK_BYTES - sizeof(LiveChunk));
  const LiveWriter writer{chunk.process, chunk.thread};
  const char* const begin = reinterpret_cast<const char*>(&chunk + 1);
  while (used - taken_[i] >= sizeof(LiveRecord)) {
    LiveRecord record;
    std::memcpy(&record, begin + taken_[i], sizeof record);
    if (record.bytes > used - taken_[i] || record.bytes < sizeof record ||
        std::uint64_t{record.text_bytes} + record.module_bytes + record.operator_bytes >
            record.bytes - sizeof record) {
      taken_[i] = used;
      break;
    }
    record.name[sizeof record.name - 1] = '\0';
    const char* const text = begin + taken_[i] + sizeof record;
    const char* const module = text + record.text_bytes;
    take(writer, record,
         {.text = {text, record.text_bytes},
          .module = {module, record.module_bytes},
          .operator_name = {module + record.module_bytes, record.operator_bytes}});
    taken_[i] += record.bytes;
    ++records;
  }
  if (!done) return;
  taken_[i] = 0;
  chunk.used = 0;
  chunk.process = 0;
  __atomic_store_n(&chunk.state, LIVE_FREE, __ATOMIC_RELEASE);
}

}  // namespace topdnn
