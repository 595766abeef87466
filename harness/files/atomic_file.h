// Writes a report's file completely or not at all: a reader never sees an incomplete result, and a
// failed run does not change the previous file.

#ifndef TOPDNN_HARNESS_FILES_ATOMIC_FILE_H_
#define TOPDNN_HARNESS_FILES_ATOMIC_FILE_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/text/errors.h"

namespace topdnn {

// The name is valid, but writing fails: a full disk, a limit of file sizes, a broken device.
class WriteError : public RunFailure {
 public:
  using RunFailure::RunFailure;
};

// The name of standard output.
inline constexpr std::string_view kStandardOutput = "-";

// A file that is written under a temporary name in the same folder, and renamed when it is
// complete. A symbolic link is kept; the file that it names is written, even if it does not exist
// yet. An existing file keeps its permissions; it is refused if it is read-only. The temporary file
// has a short random name, is made with O_EXCL, and is removed unless it is published.
class AtomicFile {
 public:
  // Throws InputError if the path is not a regular file and cannot become one.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // The name of the temporary file; a library may write to it.
  const std::string& temporary() const { return temporary_; }
  // Throws WriteError.
  void Write(std::string_view content);
  // Writes the file to the disk and renames it. Throws WriteError.
  void Publish();

 private:
  std::string path_;       // as given
  std::string real_;       // with symbolic links followed
  std::string temporary_;  // beside it; empty: published
  bool exists_ = false;
  mode_t mode_ = 0;  // of the existing file
  uid_t owner_ = 0;
  gid_t group_ = 0;
  int fd_ = -1;
};

// A temporary file of this process that something else writes, under a name that it chooses. Its
// end and RemoveTemporaryFiles remove the file.
class RemovedFile {
 public:
  explicit RemovedFile(std::string path);
  ~RemovedFile();
  RemovedFile(const RemovedFile&) = delete;
  RemovedFile& operator=(const RemovedFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Removes the temporary files of this process that exist now. For a signal handler that ends it:
// no allocation, no lock.
void RemoveTemporaryFiles() noexcept;

// Writes with an AtomicFile. Devices, pipes with a reader, and standard output (`-`) are written
// directly. Throws InputError for a name that cannot be written, and WriteError.
void WriteFileAtomically(const std::string& path, std::string_view content);

// The outputs of a command: one that cannot be written keeps no other from being written, nor the
// tables from being printed.
class Outputs {
 public:
  // Calls `write` unless the path is empty. Keeps why it failed.
  void Write(const std::string& path, const std::function<void()>& write);
  // Throws WriteError, in one line, if one was not written.
  void Finish() const;

 private:
  std::vector<std::string> failures_;
};

// Checks that WriteFileAtomically can work, before the long run that computes the content. Leaves
// no file. Throws InputError if it cannot.
void CheckWritable(const std::string& path);

// Calls CheckWritable for all `outputs`. No output may be the same file as another output or an
// input, even under another name. Empty names are ignored. Throws InputError.
void CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_FILES_ATOMIC_FILE_H_
