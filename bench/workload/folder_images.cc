#include "bench/workload/folder_images.h"

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace topdnn {

namespace {

using Shared = std::shared_future<std::shared_ptr<const DatasetPair>>;

// One part of a pair that others use, too.
class SharedDataset : public Dataset {
 public:
  explicit SharedDataset(std::shared_ptr<const Dataset> images) : images_(std::move(images)) {}

  const std::string& name() const override { return images_->name(); }
  std::int64_t size() const override { return images_->size(); }
  int classes() const override { return images_->classes(); }
  const Shape& image_shape() const override { return images_->image_shape(); }
  std::int32_t label(std::int64_t index) const override { return images_->label(index); }
  void CopyImage(std::int64_t index, std::span<float> pixels) const override {
    images_->CopyImage(index, pixels);
  }

 private:
  std::shared_ptr<const Dataset> images_;
};

Shared StartToRead(const std::filesystem::path& folder) {
  const auto read = [folder] { return std::make_shared<const DatasetPair>(OpenFolder(folder)); };
  try {
    return std::async(std::launch::async, read).share();
  } catch (const std::system_error&) {  // no thread can be started: the first use reads
    return std::async(std::launch::deferred, read).share();
  }
}

Shared ImagesOf(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, Shared> read;
  const std::lock_guard lock(mutex);
  const auto known = read.find(folder);
  if (known != read.end()) return known->second;
  return read.emplace(folder, StartToRead(folder)).first->second;
}

std::unique_ptr<Dataset> Share(const std::shared_ptr<const DatasetPair>& pair,
                               const Dataset& images) {
  return std::make_unique<SharedDataset>(std::shared_ptr<const Dataset>(pair, &images));
}

}  // namespace

void ReadAhead(const std::filesystem::path& folder) { ImagesOf(folder); }

DatasetPair FolderImages(const std::filesystem::path& folder) {
  const std::shared_ptr<const DatasetPair> pair = ImagesOf(folder).get();
  DatasetPair shared;
  if (pair->train) shared.train = Share(pair, *pair->train);
  if (pair->test) shared.test = Share(pair, *pair->test);
  return shared;
}

}  // namespace topdnn
