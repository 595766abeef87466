// A data set that gives a limited number of images per second: what a slow disk, network or decoder
// does to a training, on a machine that has none of them.

#ifndef TOPDNN_DATASETS_THROTTLED_H_
#define TOPDNN_DATASETS_THROTTLED_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "datasets/dataset.h"

namespace topdnn {

class ThrottledDataset : public Dataset {
 public:
  // `images_per_second` is above 0, and counts the images of all threads together.
  ThrottledDataset(std::unique_ptr<Dataset> source, double images_per_second);

  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return source_->size(); }
  int classes() const override { return source_->classes(); }
  const Shape& image_shape() const override { return source_->image_shape(); }
  std::int32_t label(std::int64_t index) const override { return source_->label(index); }
  // Sleeps until the image's turn. After idle time the rate is not higher.
  void CopyImage(std::int64_t index, std::span<float> pixels) const override;

 private:
  std::unique_ptr<Dataset> source_;
  std::string name_;
  std::chrono::nanoseconds interval_;
  mutable std::mutex mutex_;
  mutable std::chrono::steady_clock::time_point next_;
};

}  // namespace topdnn

#endif  // TOPDNN_DATASETS_THROTTLED_H_
