// Writes a report's file whole or not at all: a reader never meets half a result, and a failed run
// leaves the last good file in place.

#ifndef TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_
#define TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// A file that cannot be written under its name: one line with what, where and the fix.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The name is good, and the writing fails: a full disk, a limit of file sizes, a broken device.
class WriteError : public ReportError {
 public:
  using ReportError::ReportError;
};

// The name that stands for standard output.
inline constexpr std::string_view kStandardOutput = "-";

// A file under a temporary name beside its own, which it gets when it is whole. A symbolic link
// keeps pointing at the file it names, whether that exists or not; an existing file keeps its
// permissions, and is refused when nobody may write to it. The temporary file has a short random
// name, is made with O_EXCL, and is removed unless it is published.
class AtomicFile {
 public:
  // Throws ReportError for what is not, and cannot become, a regular file.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Where to write; a library may write to it under this name.
  const std::string& temporary() const { return temporary_; }
  // Throws WriteError.
  void Write(std::string_view content);
  // Flushes it to the disk, and gives it its name. Throws WriteError.
  void Publish();

 private:
  std::string path_;       // as it was given
  std::string real_;       // with symbolic links followed
  std::string temporary_;  // beside it; empty: published
  bool exists_ = false;
  mode_t mode_ = 0;  // of the existing file
  uid_t owner_ = 0;
  gid_t group_ = 0;
  int fd_ = -1;
};

// Writes by an AtomicFile. A device, a pipe that has a reader, and `-`, standard output, are
// written to directly. Throws ReportError.
void WriteFileAtomically(const std::string& path, std::string_view content);

// Whether WriteFileAtomically could work, tried before the long run that makes the content. Leaves
// nothing behind. Throws ReportError.
void CheckWritable(const std::string& path);

// CheckWritable for all `outputs`, of which no two may be one file, nor one of the `inputs`, under
// whatever names. Empty names stand for nothing. Throws ReportError.
void CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_
