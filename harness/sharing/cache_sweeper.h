// Replaces the contents of a cache by other memory. A capacity mask limits where new lines go, but
// lines that are already in other ways still hit (Intel SDM volume 3B, section 17.19). So what a
// workload has cached with more ways must be evicted before it is timed with fewer.

#ifndef TOPDNN_HARNESS_SHARING_CACHE_SWEEPER_H_
#define TOPDNN_HARNESS_SHARING_CACHE_SWEEPER_H_

#include <cstddef>
#include <vector>

namespace topdnn {

class CacheSweeper {
 public:
  // Allocates twice the cache, but at most a quarter of the memory that is free.
  explicit CacheSweeper(std::size_t cache_bytes);
  // Writes all of it, on these CPUs. The calling thread then has the CPUs that it had before.
  void Sweep(const std::vector<int>& cpus);
  std::size_t bytes() const { return memory_.size(); }

 private:
  std::vector<unsigned char> memory_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_CACHE_SWEEPER_H_
