// Reads the bytes of a file, and decompresses it if it is gzip.

#ifndef TOPDNN_DATASETS_BYTES_H_
#define TOPDNN_DATASETS_BYTES_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace topdnn {

// Returns the number of bytes, after decompression, that the file may have, from its head (the
// first kHeadBytes, or all of a shorter file). Throws DatasetError when the format does not allow
// this head.
using LengthOf = std::function<std::size_t(std::span<const unsigned char> head)>;
inline constexpr std::size_t kHeadBytes = std::size_t{1} << 20;

// Reads a whole file. A file that starts with gzip's magic number (RFC 1952) is decompressed.
// A file that is shorter than `length_of` allows is returned as it is. Throws DatasetError for a
// file that is missing, a folder, a pipe or a device, that cannot be read, or whose gzip stream is
// damaged, for a name ending in .gz whose content is not gzip, and for a file with more bytes than
// `length_of` returns for its head. Reading stops at most kHeadBytes after that length, so a small
// gzip file cannot inflate to gigabytes, and a file of another format is not read beyond its head.
std::vector<unsigned char> ReadFile(const std::filesystem::path& path, const LengthOf& length_of);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_BYTES_H_
