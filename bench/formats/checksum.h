// A checksum of a text, for the names of files.

#ifndef TOPDNN_BENCH_FORMATS_CHECKSUM_H_
#define TOPDNN_BENCH_FORMATS_CHECKSUM_H_

#include <string>
#include <string_view>

namespace topdnn {

// The CRC-32 of the text (RFC 1952, section 8) in 8 hexadecimal digits. Not cryptographic: a file
// of that name must contain the text it is for.
std::string Checksum(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_CHECKSUM_H_
