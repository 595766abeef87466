// A separate folder for the files of each test. Tests must not share folders, because ctest runs
// several test processes at once.

#ifndef TOPDNN_TESTS_PROCESS_TEST_FOLDER_H_
#define TOPDNN_TESTS_PROCESS_TEST_FOLDER_H_

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace topdnn {

// Creates a new folder; the destructor removes it with its contents.
class TestFolder {
 public:
  // Its name begins with `prefix`. Throws std::system_error if it cannot be created.
  explicit TestFolder(const std::string& prefix = "topdnn-") {
    std::string name = (std::filesystem::temp_directory_path() / (prefix + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    path_ = std::filesystem::canonical(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes the file `name`, creates its parent folders, and returns its path.
  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_PROCESS_TEST_FOLDER_H_
