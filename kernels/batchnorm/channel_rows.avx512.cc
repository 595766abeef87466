#include "kernels/batchnorm/channel_rows.h"

namespace topdnn {

ChannelRowFunctions ChannelRowFunctionsAvx512(bool masked) {
  return ChannelRowFunctionsOf<16>(masked);
}

}  // namespace topdnn
