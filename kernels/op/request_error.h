// The user's input as kernels/ and networks/ see it: a problem, a network, its values or a plug-in.

#ifndef TOPDNN_KERNELS_OP_REQUEST_ERROR_H_
#define TOPDNN_KERNELS_OP_REQUEST_ERROR_H_

#include <stdexcept>

namespace topdnn {

// What is requested cannot be read, or cannot be computed: one line that says what is wrong, where,
// and the fix. The program ends with status 2.
class RequestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_REQUEST_ERROR_H_
