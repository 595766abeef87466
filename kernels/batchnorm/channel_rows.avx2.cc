#include "kernels/batchnorm/channel_rows.h"

namespace topdnn {

ChannelRowFunctions ChannelRowFunctionsAvx2(bool masked) {
  return ChannelRowFunctionsOf<8>(masked);
}

}  // namespace topdnn
