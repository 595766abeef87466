#include "bench/studies/sweep/study.h"

#include <algorithm>

#include "bench/command_line/nearest.h"
#include "datasets/open.h"

namespace topdnn {

const std::vector<Study>& Studies() {
  static const std::vector<Study> studies = {
      // The questions of a study of TensorFlow's training of ResNet-50 and a small CNN on CIFAR-10:
      // batch size, mixed precision, private threads and prefetch, by mean step and compute time.
      // Its images are 32x32. PlaceImage gives the images of the data set here the same size.
      {.name = "tensorflow",
       .help =
           "batch size, bf16, private threads and prefetch, in the training of cnn and resnet50",
       .values = {{"network", {"cnn", "resnet50"}},
                  {"mode", {"train"}},
                  {"batch", {"32", "128"}},
                  {"dtype", {"f32", "bf16"}},
                  {"placement", {"shared", "private"}},
                  {"prefetch", {"0", "2"}}},
       .settings = {{"--data", kFashionMnistFolder},
                    {"--augment", "crop,flip,normalise"},
                    {"--seconds", "4"}}}};
  return studies;
}

std::vector<std::string> StudyNames() {
  std::vector<std::string> names;
  for (const Study& study : Studies()) names.push_back(study.name);
  return names;
}

const Study& FindStudy(const std::string& name) {
  CheckName("study", name, StudyNames());
  return *std::find_if(Studies().begin(), Studies().end(),
                       [&](const Study& study) { return study.name == name; });
}

}  // namespace topdnn
