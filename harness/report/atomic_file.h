// Writes a report's file whole or not at all: a reader never meets half a result, and a failed run
// leaves the last good file in place.

#ifndef TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_
#define TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace topdnn {

// A report that cannot be written: one line with what, where and the fix.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Writes to a temporary name beside `path`, flushes it to the disk and renames it. A symbolic link
// keeps pointing at the file it names, an existing file keeps its permissions; a pipe or a device
// (/dev/stdout) is written to directly. Throws ReportError.
void WriteFileAtomically(const std::string& path, std::string_view content);

// Whether WriteFileAtomically could work, tried before the long run that makes the content. Leaves
// nothing behind. Throws ReportError.
void CheckWritable(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_ATOMIC_FILE_H_
