// Compares a batch normalization with the reference, within bounds for its rounding errors.

#ifndef TOPDNN_TESTS_KERNELS_BATCHNORM_CHECK_H_
#define TOPDNN_TESTS_KERNELS_BATCHNORM_CHECK_H_

#include <cstdint>
#include <string>

#include "tests/kernels/kernel_check.h"

namespace topdnn {

// As CheckAgainstReference. The errors may grow with the elements relative to the deviation.
Verdict CheckBatchNorm(const std::string& backend, const KernelRequest& request, std::uint64_t seed,
                       CheckOptions options = {});

// Settles all images of the request in the layout of a tag.
void SettleImages(KernelRequest& request, const char* tag);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_BATCHNORM_CHECK_H_
