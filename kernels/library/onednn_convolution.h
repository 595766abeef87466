// oneDNN's convolution primitive, for the operations that it computes.

#ifndef TOPDNN_KERNELS_LIBRARY_ONEDNN_CONVOLUTION_H_
#define TOPDNN_KERNELS_LIBRARY_ONEDNN_CONVOLUTION_H_

#include <memory>
#include <vector>

#include "kernels/library/onednn.h"
#include "kernels/op/spatial_axis.h"

namespace topdnn::onednn {

struct Convolution {
  std::vector<SpatialAxis> axes;
  Shape src, weights, dst;  // weights of several groups are (G, K/G, C/G, kernel...)
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  dnnl::primitive_attr attributes = Attributes();  // of the forward pass
};

// The kernel of the request's pass. If the operation has the weights in another shape, they are
// row-major. Throws dnnl::error.
std::unique_ptr<Kernel> MakeConvolution(const KernelRequest& request,
                                        const Convolution& convolution);

}  // namespace topdnn::onednn

#endif  // TOPDNN_KERNELS_LIBRARY_ONEDNN_CONVOLUTION_H_
