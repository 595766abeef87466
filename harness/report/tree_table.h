// The Top-Down tree as text: a bar of letters for a row of the table of stages, and a table of the
// nodes' intervals.

#ifndef TOPDNN_HARNESS_REPORT_TREE_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TREE_TABLE_H_

#include <cstddef>
#include <string>

#include "harness/bounds/topdown_tree.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// "RRRCCCCCMM..": each node of level 1 at its lower end, and dots for what is not decided or is the
// front end. `columns` letters.
std::string NodeLetters(const TopdownTree& tree, std::size_t columns);
Ink InkOfNodeLetter(char letter);
// What the letters mean; a line.
std::string NodeLegend();

// The nodes of the stages that take at least a hundredth of the step, of the passes and of the
// step, and the reasons why others have none. Empty without a tree.
std::string TreeTable(const Report& report, const Style& style);

// With `explain`, why it is not decided what binds: each reason once.
std::string UndecidedText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TREE_TABLE_H_
