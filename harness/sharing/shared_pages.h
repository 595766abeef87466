// Memory that a process shares with the children that it forks. It has no name, so nothing is left
// when the last of them ends.

#ifndef TOPDNN_HARNESS_SHARING_SHARED_PAGES_H_
#define TOPDNN_HARNESS_SHARING_SHARED_PAGES_H_

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace topdnn {

// Zeros at first. Each page takes memory from its first use on, by reading or writing.
class SharedPages {
 public:
  // Throws std::system_error.
  explicit SharedPages(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "cannot map shared memory");
    }
  }
  ~SharedPages() { munmap(data_, bytes_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_SHARED_PAGES_H_
