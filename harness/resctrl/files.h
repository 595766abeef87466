// The file operations on a resctrl file system. The kernel's interface consists of files and
// folders only (Linux, Documentation/filesystems/resctrl.rst), so a test replaces them by an object
// with the kernel's rules.

#ifndef TOPDNN_HARNESS_RESCTRL_FILES_H_
#define TOPDNN_HARNESS_RESCTRL_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "harness/files/small_file.h"

namespace topdnn {

inline constexpr const char* kResctrlRoot = "/sys/fs/resctrl";

// Paths are relative to the root: "info/L3/cbm_mask", "schemata". Functions return 0 or an errno.
class ResctrlFiles {
 public:
  virtual ~ResctrlFiles() = default;
  virtual const std::string& root() const = 0;
  // EFBIG for more than a megabyte, EINVAL for what is not a regular file.
  virtual FileText Read(const std::string& path) const = 0;
  // Replaces the content by one write(2), because the kernel handles each write by itself.
  virtual int Write(const std::string& path, const std::string& text) = 0;
  // As Write, but appends in a plain folder, too: for `tasks`, to which the kernel always adds.
  virtual int Append(const std::string& path, const std::string& text) = 0;
  virtual int MakeFolder(const std::string& path) = 0;
  // If it is a group, its tasks return to the root group.
  virtual int RemoveFolder(const std::string& path) = 0;
  // The names of the folders in a folder, sorted; none if it cannot be read.
  virtual std::vector<std::string> Folders(const std::string& path) const = 0;
};

// The file system at `root`. A plain folder works, too: it accepts every text, and removing a group
// removes the files `schemata` and `tasks` that were written there.
std::unique_ptr<ResctrlFiles> OpenResctrlFiles(const std::string& root = kResctrlRoot);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESCTRL_FILES_H_
