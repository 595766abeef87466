#include "harness/machine/thread_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

std::vector<pid_t> ReadOnce(const std::filesystem::path& tasks, std::error_code& error) {
  std::vector<pid_t> threads;
  for (auto at = std::filesystem::directory_iterator(tasks, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const auto thread = ParseNumber<pid_t>(at->path().filename().string());
    if (thread && *thread > 0) threads.push_back(*thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

std::vector<pid_t> ThreadsIn(const std::filesystem::path& tasks, std::error_code& error) {
  constexpr int kMostReadings = 20;  // of a process that starts and ends threads all the time
  std::vector<pid_t> threads = ReadOnce(tasks, error);
  for (int reading = 1; reading < kMostReadings && !error; ++reading) {
    std::vector<pid_t> again = ReadOnce(tasks, error);
    if (again == threads) break;
    threads = std::move(again);
  }
  return threads;
}

std::vector<pid_t> ThreadsOfThisProcess() {
  constexpr const char* kTasks = "/proc/self/task";
  std::error_code error;
  std::vector<pid_t> threads = ThreadsIn(kTasks, error);
  if (error) throw std::filesystem::filesystem_error("the list of threads", kTasks, error);
  return threads;
}

}  // namespace topdnn
