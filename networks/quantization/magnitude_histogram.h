// The clipping limit of a value that becomes 8-bit integers, by the least relative entropy
// (Migacz, "8-bit Inference with TensorRT", GTC 2017): the larger the limit, the coarser the steps
// of all elements; the smaller the limit, the more elements saturate.

#ifndef TOPDNN_NETWORKS_QUANTIZATION_MAGNITUDE_HISTOGRAM_H_
#define TOPDNN_NETWORKS_QUANTIZATION_MAGNITUDE_HISTOGRAM_H_

#include <span>
#include <vector>

namespace topdnn {

// The number of leading bins to keep, from `levels` to all, for which the counts, with those of the
// other bins added to the last kept one, have the least relative entropy (Kullback-Leibler
// divergence) to the same bins merged into `levels` groups. A group's count is spread evenly over
// its bins that are not empty. Of equal candidates, the one that keeps most. Throws
// std::invalid_argument for fewer bins than levels, or levels below 1.
std::size_t BinsOfLeastEntropy(std::span<const double> counts, std::size_t levels);

// Counts the magnitudes of elements in bins, whose range grows with the elements. Zeros are not
// counted: every quantization represents them exactly.
class MagnitudeHistogram {
 public:
  // Finite numbers.
  void Add(std::span<const double> values);

  // The limit for integers with this many magnitudes above 0 (127 for s8, 255 for u8); 0 if no
  // element differs from 0.
  double Limit(std::size_t levels) const;

 private:
  std::vector<double> counts_;
  double range_ = 0;  // of all bins together, a power of two; 0 before the first element
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_QUANTIZATION_MAGNITUDE_HISTOGRAM_H_
