// The images of a folder, read once per process: several parts of a command use them, and to
// decompress them takes as long as to plan a network.

#ifndef TOPDNN_BENCH_WORKLOAD_FOLDER_IMAGES_H_
#define TOPDNN_BENCH_WORKLOAD_FOLDER_IMAGES_H_

#include <filesystem>

#include "datasets/open.h"

namespace topdnn {

// Starts to read the folder on a thread of its own, unless that has started before. Reports
// nothing: FolderImages does.
void ReadAhead(const std::filesystem::path& folder);

// The images of OpenFolder, after waiting for them. Every call gives the same ones, and throws the
// same DatasetError.
DatasetPair FolderImages(const std::filesystem::path& folder);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_FOLDER_IMAGES_H_
