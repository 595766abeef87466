#include "bench/formats/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

namespace topdnn {

std::string Checksum(std::string_view text) {
  return fmt::format("{:08x}",
                     crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

}  // namespace topdnn
