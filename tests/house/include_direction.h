// Checks which floor may include which.

#ifndef TOPDNN_TESTS_HOUSE_INCLUDE_DIRECTION_H_
#define TOPDNN_TESTS_HOUSE_INCLUDE_DIRECTION_H_

#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {

// An #include line of a file.
struct Include {
  std::string target;  // "kernels/op/op.h"
  int line = 0;        // from 1
  bool quoted = false;
};

std::vector<Include> IncludesOf(std::string_view text);

// Every breach, one line each ("harness/a.cc:3: includes kernels/op/op.h, ..."): an upward
// include between floors or between the rooms of a floor, an include of an unknown floor or a
// missing file, an own header in angle brackets, and a circle of includes between files. Empty: no
// breach.
std::vector<std::string> IncludeBreaches(const std::vector<SourceFile>& files);

// Every file that is directly on a floor with rooms, every folder with more than 30 sources, and
// every circle of includes between folders that stand beside each other, at any level ("a circle of
// includes: bench/log -> bench/cases -> bench/log"). The files directly in a folder are one more
// part of it ("bench/profile/"). tests/ is left out.
std::vector<std::string> FolderBreaches(const std::vector<SourceFile>& files);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HOUSE_INCLUDE_DIRECTION_H_
