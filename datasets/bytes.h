// A file's bytes, gunzipped when it is gzip.

#ifndef TOPDNN_DATASETS_BYTES_H_
#define TOPDNN_DATASETS_BYTES_H_

#include <cstddef>
#include <filesystem>
#include <vector>

namespace topdnn {

// Reads a whole file; one that starts with gzip's magic (RFC 1952) is decompressed. A name ending
// in .gz whose content is not gzip is an error, and so is a file that yields more than `most`
// bytes: no file is read into memory beyond what its format allows. Throws DatasetError.
std::vector<unsigned char> ReadFile(const std::filesystem::path& path, std::size_t most);

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_BYTES_H_
