// The kernel that writes the elements of a tensor in another order. On Eigen it computes reorders,
// flattens and transpositions.

#ifndef TOPDNN_KERNELS_EIGEN_SHUFFLE_H_
#define TOPDNN_KERNELS_EIGEN_SHUFFLE_H_

#include "kernels/eigen/kernel.h"
#include "kernels/tensor/permutation.h"

namespace topdnn::eigen {

// Writes the memory of `from` to that of `to` with its dimensions permuted. All layouts of
// `settled` must be settled. Refuses a permutation of more dimensions than are compiled.
KernelOrRefusal MakeShuffle(const KernelRequest& settled, const Functions& functions, Arg from,
                            Arg to, const Permutation& permutation);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_SHUFFLE_H_
