#include "harness/scheduling/policies.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace topdnn {

namespace {

bool Runs(const QueuedJob& job) { return job.now.width > 0; }

int SumOfWidths(const QueueState& state) {
  return std::accumulate(state.jobs.begin(), state.jobs.end(), 0,
                         [](int sum, const QueuedJob& job) { return sum + job.now.width; });
}

// A job starts when its maximum width is free. The first job that does not fit stops the queue. A
// job that runs keeps its width.
std::vector<JobWidth> DecideFcfs(const QueueState& state) {
  std::vector<JobWidth> widths;
  int free = state.cpus - SumOfWidths(state);
  bool stopped = false;
  for (const QueuedJob& job : state.jobs) {
    if (Runs(job)) {
      widths.push_back(job.now);
      continue;
    }
    // After a loss of CPUs the maximum width may never be free again.
    const int width = std::max(std::min(job.max_width, state.cpus), job.min_width);
    stopped = stopped || width > free;
    widths.push_back({stopped ? 0 : width});
    if (!stopped) free -= width;
  }
  return widths;
}

std::vector<JobWidth> DecideUncontrolled(const QueueState& state) {
  std::vector<JobWidth> widths;
  for (const QueuedJob& job : state.jobs) widths.push_back({job.max_width});
  return widths;
}

// A job runs in a whole part. A job whose part has lost its CPUs moves to a free part, or shares a
// part.
std::vector<JobWidth> DecideStatic(const QueueState& state) {
  const int parts = std::max(state.cpus / state.part_width, 1);
  std::vector<bool> taken(static_cast<std::size_t>(parts));
  const auto index = [](int part) { return static_cast<std::size_t>(part); };
  for (const QueuedJob& job : state.jobs) {
    if (Runs(job) && job.now.part < parts) taken[index(job.now.part)] = true;
  }
  int next = 0;
  const auto free_part = [&] {
    while (next < parts && taken[index(next)]) ++next;
    return next;
  };
  const auto place = [&](const QueuedJob& job, int part) {
    taken[index(part)] = true;
    const int width = std::min({job.max_width, state.part_width, state.cpus});
    return JobWidth{std::max(width, job.min_width), part};
  };
  std::vector<JobWidth> widths(state.jobs.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const QueuedJob& job = state.jobs[i];
    if (!Runs(job)) continue;
    const bool kept = job.now.part < parts;
    const int open = free_part();
    widths[i] = place(job, kept ? job.now.part : open < parts ? open : job.now.part % parts);
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (Runs(state.jobs[i])) continue;
    const int part = free_part();
    if (part >= parts) break;
    widths[i] = place(state.jobs[i], part);
  }
  return widths;
}

// The jobs that run, and those of the queue whose minimum widths fit beside theirs, share all CPUs.
std::vector<JobWidth> DecideShares(const QueueState& state, double (*weight)(const QueuedJob&)) {
  int free = state.cpus;
  for (const QueuedJob& job : state.jobs) free -= Runs(job) ? job.min_width : 0;
  std::vector<WidthDemand> limits;
  std::vector<std::size_t> admitted;
  bool stopped = false;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    const QueuedJob& job = state.jobs[i];
    if (!Runs(job)) {
      stopped = stopped || job.min_width > free;
      if (stopped) continue;
      free -= job.min_width;
    }
    limits.push_back({weight(job), job.min_width, job.max_width});
    admitted.push_back(i);
  }
  const std::vector<int> shares = DivideCpus(state.cpus, limits);
  std::vector<JobWidth> widths(state.jobs.size());
  for (std::size_t a = 0; a < admitted.size(); ++a) widths[admitted[a]].width = shares[a];
  return widths;
}

std::vector<JobWidth> DecideProportional(const QueueState& state) {
  return DecideShares(state, [](const QueuedJob& job) { return double(job.max_width); });
}

std::vector<JobWidth> DecideEqual(const QueueState& state) {
  return DecideShares(state, [](const QueuedJob&) { return 1.0; });
}

constexpr Policy kPolicies[] = {
    {.name = "fcfs",
     .what = "first come, first served: a job starts when its maximum width is free, in order",
     .source = "Feitelson, Job Scheduling in Multiprogrammed Parallel Systems, IBM RC 19790, 1997; "
               "the strict policy of Libutti et al., 2020",
     .decide = DecideFcfs},
    {.name = "uncontrolled",
     .what = "every job starts at once at its maximum width; the kernel shares the time",
     .source = "the uncontrolled runs of Libutti et al., 2020",
     .own_cpus = false,
     .decide = DecideUncontrolled},
    {.name = "static",
     .what = "the CPUs are divided into fixed equal parts, and a job runs in one part",
     .source = "Feitelson 1997, fixed partitioning",
     .decide = DecideStatic},
    {.name = "proportional",
     .what = "widths in proportion to the maximum widths, changed at each arrival and end",
     .source = "the max-proportional policy of Libutti et al., 2020",
     .decide = DecideProportional},
    {.name = "equal",
     .what = "equal widths, changed at each arrival and end",
     .source = "McCann, Vaswani and Zahorjan, ACM TOCS 11(2), 1993 (dynamic equipartition)",
     .decide = DecideEqual},
};

// The width of each job before rounding, and whether it is fixed at a limit.
struct Shares {
  std::vector<double> share;
  std::vector<bool> fixed;
};

// Sets the widths, and fixes those that violate a limit. Returns whether all widths are final.
bool FixViolations(std::span<const WidthDemand> jobs, double factor, Shares& shares) {
  double violation = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (shares.fixed[i]) continue;
    const double wanted = factor * jobs[i].weight;
    shares.share[i] =
        std::clamp(wanted, static_cast<double>(jobs[i].least), static_cast<double>(jobs[i].most));
    violation += shares.share[i] - wanted;
  }
  constexpr double kRounding = 1e-9;
  if (std::abs(violation) <= kRounding * static_cast<double>(jobs.size())) return true;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double wanted = factor * jobs[i].weight;
    if (violation > 0 ? jobs[i].least > wanted : jobs[i].most < wanted) shares.fixed[i] = true;
  }
  return false;
}

// Rounds down, and gives what is left to the largest remainders.
std::vector<int> Rounded(int cpus, std::span<const WidthDemand> jobs,
                         const std::vector<double>& shares) {
  constexpr double kRounding = 1e-9;
  std::vector<int> widths(jobs.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    widths[i] = static_cast<int>(std::floor(shares[i] + kRounding));
    cpus -= widths[i];
    if (widths[i] < jobs[i].most) open.push_back(i);
  }
  // In units of the rounding error, so that equal remainders are equal.
  const auto remainder = [&](std::size_t i) {
    return std::llround((shares[i] - widths[i]) / kRounding);
  };
  std::stable_sort(open.begin(), open.end(),
                   [&](std::size_t a, std::size_t b) { return remainder(a) > remainder(b); });
  for (const std::size_t i : open) {
    if (cpus <= 0) break;
    ++widths[i];
    --cpus;
  }
  return widths;
}

}  // namespace

void Enqueue(std::size_t job, const TraceJob& description, std::vector<QueuedJob>& queue) {
  const auto place = [](const QueuedJob& queued) {
    return std::tuple(-queued.priority, queued.job);
  };
  const QueuedJob queued{.job = job,
                         .priority = description.priority,
                         .min_width = description.min_width,
                         .max_width = description.max_width};
  queue.insert(std::ranges::upper_bound(queue, place(queued), {}, place), queued);
}

std::span<const Policy> Policies() { return kPolicies; }

const Policy* FindPolicy(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPolicies), std::end(kPolicies),
                                         [&](const Policy& policy) { return policy.name == name; });
  return found == std::end(kPolicies) ? nullptr : found;
}

std::vector<int> DivideCpus(int cpus, std::span<const WidthDemand> jobs) {
  int least = 0;
  int most = 0;
  for (const WidthDemand& job : jobs) {
    least += job.least;
    most += job.most;
  }
  if (cpus <= least || cpus >= most) {
    std::vector<int> widths;
    for (const WidthDemand& job : jobs) widths.push_back(cpus <= least ? job.least : job.most);
    return widths;
  }
  Shares shares{std::vector<double>(jobs.size()), std::vector<bool>(jobs.size())};
  for (;;) {
    double left = cpus;
    double weight = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      (shares.fixed[i] ? left : weight) += shares.fixed[i] ? -shares.share[i] : jobs[i].weight;
    }
    // Each round fixes one job at least.
    if (weight <= 0 || FixViolations(jobs, left / weight, shares)) break;
  }
  return Rounded(cpus, jobs, shares.share);
}

int DefaultPartWidth(std::span<const WidthDemand> jobs) {
  int least = 1;
  double sum = 0;
  for (const WidthDemand& job : jobs) {
    least = std::max(least, job.least);
    sum += job.most;
  }
  if (jobs.empty()) return least;
  return std::max(least, static_cast<int>(std::ceil(sum / static_cast<double>(jobs.size()) / 2)));
}

}  // namespace topdnn
