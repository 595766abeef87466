// The measured ceilings as `topdnn machine` prints them: a table of multiply-adds by ISA and type,
// a table of memory by level, and the reasons of verdicts that are not OK.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_CEILING_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_CEILING_TABLE_H_

#include <string>
#include <vector>

#include "harness/probes/ceilings.h"
#include "harness/text/style.h"

namespace topdnn {

// One screen. A DEGRADED value is marked with a star; instead of an INVALID value, the word is
// shown. The first six reasons are listed below the tables, those of INVALID values first. Pure.
std::string CeilingTable(const std::vector<Ceiling>& ceilings, const Style& style);

// One row for each ceiling, with its spread, verdict and note; absent ceilings are listed, too.
// Pure.
std::string CeilingList(const std::vector<Ceiling>& ceilings, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_CEILING_TABLE_H_
