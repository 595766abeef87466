// oneDNN's resampling primitive, for the operations that it computes.

#ifndef TOPDNN_KERNELS_LIBRARY_ONEDNN_RESAMPLING_H_
#define TOPDNN_KERNELS_LIBRARY_ONEDNN_RESAMPLING_H_

#include "kernels/library/onednn.h"

namespace topdnn::onednn {

// Forward src -> dst, backward diff_dst -> diff_src, both in one layout: the request's, otherwise
// row-major.
KernelOrRefusal MakeResampling(const KernelRequest& request, dnnl::algorithm algorithm,
                               const Shape& src_shape, const Shape& dst_shape);

}  // namespace topdnn::onednn

#endif  // TOPDNN_KERNELS_LIBRARY_ONEDNN_RESAMPLING_H_
