// The kernel that moves the elements of one tensor into another order: what a reorder, a flatten
// and a transposition are on Eigen.

#ifndef TOPDNN_KERNELS_EIGEN_SHUFFLE_H_
#define TOPDNN_KERNELS_EIGEN_SHUFFLE_H_

#include "kernels/eigen/kernel.h"
#include "kernels/permutation.h"

namespace topdnn::eigen {

// Writes the memory of `from`, its dimensions permuted, to that of `to`. `settled` has every layout
// settled. Refuses a permutation of more dimensions than were compiled.
KernelOrRefusal MakeShuffle(const KernelRequest& settled, const Functions& functions, Arg from,
                            Arg to, const Permutation& permutation);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_SHUFFLE_H_
