// Stores and loads the values of a tensor whose layout only its backend can address. Both go
// through a row-major tensor and the backend's reorder.

#ifndef TOPDNN_KERNELS_REORDER_STORE_H_
#define TOPDNN_KERNELS_REORDER_STORE_H_

#include <span>
#include <string>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// Writes `values`, the logical tensor in row-major order, rounded to the element type. Throws
// std::invalid_argument when `backend` cannot reorder into the layout.
void StoreValues(std::span<const double> values, const TensorDesc& desc, void* data,
                 const std::string& backend);
void StoreValues(std::span<const float> values, const TensorDesc& desc, void* data,
                 const std::string& backend);

// Reads the logical tensor. Throws std::invalid_argument when `backend` cannot reorder from the
// layout.
std::vector<double> LoadValues(const TensorDesc& desc, const void* data,
                               const std::string& backend);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REORDER_STORE_H_
