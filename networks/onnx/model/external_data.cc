#include "networks/onnx/model/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "networks/onnx/model/model.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

// The number of an entry, or nothing if there is no such entry.
std::optional<std::uint64_t> NumberOf(const std::map<std::string, std::string>& entries,
                                      const std::string& key, const std::string& what) {
  const auto found = entries.find(key);
  if (found == entries.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    throw OnnxError(fmt::format("{}: the {} of its data is '{}', no number; the file is damaged",
                                what, key, Printable(text)));
  }
  return number;
}

// The file that a location names, without symbolic links.
fs::path FileAt(const std::string& folder, const std::string& location, const std::string& what) {
  const std::string shown = Printable(location);
  const auto refuse = [&](const std::string& why) {
    throw OnnxError(fmt::format("{}: its data are in '{}', {}", what, shown, why));
  };
  const fs::path relative(location);
  if (location.find('\0') != std::string::npos) refuse("which is no name of a file");
  const bool leaves =
      relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end();
  const char* const outside =
      "outside the model's folder; move it there and save the model with its name alone";
  if (leaves) refuse(outside);
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error) refuse("which cannot be opened; put it beside the model");
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) refuse(outside);
  if (!fs::is_regular_file(file, error)) refuse("which is no file; put it beside the model");
  return file;
}

}  // namespace

std::string ExternalData::Read(const std::map<std::string, std::string>& entries,
                               std::size_t expected, const std::string& what) {
  const auto location = entries.find("location");
  if (location == entries.end() || location->second.empty()) {
    throw OnnxError(what + ": its data are in another file without a name; the file is damaged");
  }
  const std::string shown = Printable(location->second);
  if (folder_.empty()) {
    throw OnnxError(fmt::format(
        "{}: its data are in another file ('{}'); save the model with all its data in one file",
        what, shown));
  }
  const std::uint64_t offset = NumberOf(entries, "offset", what).value_or(0);
  const std::optional<std::uint64_t> length = NumberOf(entries, "length", what);
  const fs::path path = FileAt(folder_, location->second, what);
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error || offset > size || length.value_or(0) > size - offset) {
    throw OnnxError(fmt::format(
        "{}: '{}' has {} bytes, but its data are {} bytes from {}; copy the "
        "file again",
        what, shown, error ? 0 : size, length ? std::to_string(*length) : "the", offset));
  }
  const std::uint64_t found = length.value_or(size - offset);
  if (found != expected) {
    throw OnnxError(
        fmt::format("{}: {} bytes of data in '{}', but its shape needs {}; the file is "
                    "damaged",
                    what, found, shown, expected));
  }
  if (__builtin_add_overflow(read_, expected, &read_) ||
      (memory_limit_ != 0 && read_ > memory_limit_)) {
    throw OnnxError(
        fmt::format("its data in other files need more than the {} MiB that may be "
                    "used; free memory",
                    memory_limit_ >> 20));
  }
  std::string bytes(expected, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(expected));
  if (!file || file.gcount() != static_cast<std::streamsize>(expected)) {
    throw OnnxError(fmt::format("{}: '{}' cannot be read; check its permissions", what, shown));
  }
  return bytes;
}

}  // namespace topdnn
