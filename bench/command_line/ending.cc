#include "bench/command_line/ending.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "bench/command_line/command.h"
#include "datasets/dataset.h"
#include "harness/text/errors.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/op/problem.h"
#include "kernels/op/request_error.h"

namespace topdnn {

Ending EndingOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Interruption& error) {
    return {kExitInterrupted, error.what()};
  } catch (const NothingMeasured& error) {
    return {kExitNothing, error.what()};
  } catch (const InputError& error) {  // of harness/ and bench/
    return {kExitUsage, error.what()};
  } catch (const RequestError& error) {  // of kernels/ and networks/
    return {kExitUsage, error.what()};
  } catch (const ProblemError& error) {
    return {kExitUsage, error.what()};
  } catch (const DatasetError& error) {
    return {kExitUsage, error.what()};
  } catch (const std::invalid_argument& error) {  // an impossible shape
    return {kExitUsage, error.what()};
  } catch (const std::overflow_error& error) {  // an impossible size
    return {kExitUsage, error.what()};
  } catch (const RunFailure& error) {
    return {kExitWrong, error.what()};
  } catch (const KernelFailed& error) {
    return {kExitWrong, error.what()};
  } catch (const std::bad_alloc&) {
    return {kExitWrong,
            "out of memory: use a smaller --batch, or raise the limit (ulimit -v, -d, or the "
            "control group's)"};
  } catch (const std::system_error& error) {
    return {kExitWrong, fmt::format("{} (an input/output error); look at the file, the disk and "
                                    "the limits of this process (ulimit -a)",
                                    error.what())};
  } catch (const std::exception& error) {
    return {kExitWrong,
            fmt::format("internal error: {}; report it with the command line", error.what())};
  }
}

}  // namespace topdnn
