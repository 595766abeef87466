// A checksum of a text, for the names of files.

#ifndef TOPDNN_BENCH_FORMATS_CHECKSUM_H_
#define TOPDNN_BENCH_FORMATS_CHECKSUM_H_

#include <string>
#include <string_view>

namespace topdnn {

// The CRC-32 of the text (RFC 1952, section 8) in 8 hexadecimal digits. Not cryptographic: two
// texts may have the same checksum, so a file of that name must also contain its text.
std::string Checksum(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_CHECKSUM_H_
