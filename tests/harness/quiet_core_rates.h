// The rates of a core of six slots on a quiet machine, for several tests.

#ifndef TOPDNN_TESTS_HARNESS_QUIET_CORE_RATES_H_
#define TOPDNN_TESTS_HARNESS_QUIET_CORE_RATES_H_

#include "harness/probes/core_rates.h"

namespace topdnn {

inline CoreRates QuietRates() {
  CoreRates rates;
  rates.slots = 5.9;
  rates.fp = {6, 6, 6, 3};
  rates.loads = 3;
  rates.stores = 2;
  rates.mispredict_cycles = 16;
  rates.link_cycles = 11;
  rates.spreads = {{"slots", 0.01}, {"loads", 0.02}};
  return rates;
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_QUIET_CORE_RATES_H_
