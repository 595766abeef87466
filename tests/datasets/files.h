// Writes small files for the tests of the readers.

#ifndef TOPDNN_TESTS_DATASETS_FILES_H_
#define TOPDNN_TESTS_DATASETS_FILES_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "datasets/dataset.h"
#include "tests/process/test_folder.h"

namespace topdnn {

inline std::filesystem::path WriteGzip(const TestFolder& folder, const std::string& name,
                                       const std::string& bytes) {
  const std::filesystem::path path = folder.path() / name;
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

inline std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// The message of the DatasetError that `read` throws. It must be one line.
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
