// The costs of instruction forms of this CPU, kept in the user's cache from run to run.

#ifndef TOPDNN_HARNESS_HOT_KNOWN_FORM_COSTS_H_
#define TOPDNN_HARNESS_HOT_KNOWN_FORM_COSTS_H_

#include <string>

#include "harness/hot/form_costs.h"
#include "harness/machine/cpu.h"
#include "harness/user_cache/cache_folder.h"

namespace topdnn {

// The file's costs for this CPU; without forms if it has none, or cannot be read.
FormCosts ReadFormCosts(const CacheFolder& folder, const Cpu& cpu);
// Adds to the file, keeping what other processes add meanwhile. Returns an empty string, or one
// line that says why nothing is stored.
std::string StoreFormCosts(const CacheFolder& folder, const Cpu& cpu, const FormCosts& costs);

// Known costs, completed by measuring the missing forms and stored again. `*why`: why costs are
// missing; otherwise empty.
FormCosts CostsOfForms(const CacheFolder& folder, const FormExamples& examples, std::string* why);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_KNOWN_FORM_COSTS_H_
