// A file's bytes, gunzipped when it is gzip.

#ifndef TOPDNN_DATASETS_BYTES_H_
#define TOPDNN_DATASETS_BYTES_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace topdnn {

// The bytes that a file may have, told from its first ones (kHeadBytes, or all of a shorter file);
// throws DatasetError for a head that the format does not allow.
using LengthOf = std::function<std::size_t(std::span<const unsigned char> head)>;
inline constexpr std::size_t kHeadBytes = std::size_t{1} << 20;

// Reads a whole file; one that starts with gzip's magic (RFC 1952) is decompressed. A name ending
// in .gz whose content is not gzip is an error, and so is a file that yields more than `length_of`
// its head: a small gzip file that inflates to gigabytes is left at the first byte too many, and a
// file of another format after its head. Throws DatasetError.
std::vector<unsigned char> ReadFile(const std::filesystem::path& path, const LengthOf& length_of);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_BYTES_H_
