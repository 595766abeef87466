// Files made on the fly for the tests of the readers.

#ifndef TOPDNN_TESTS_DATASETS_FILES_H_
#define TOPDNN_TESTS_DATASETS_FILES_H_

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "datasets/dataset.h"

namespace topdnn {

// A folder of the test's own, removed at its end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "topdnn-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path WriteGzip(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen((path_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// The message of the DatasetError that `read` throws: one line.
inline std::string ErrorOf(const std::function<void()>& read) {
  try {
    read();
  } catch (const DatasetError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_DATASETS_FILES_H_
