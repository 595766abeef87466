// Jobs that share the CPUs under several policies: what each policy achieves, and which job had how
// many threads at which time.

function jobFacts(job) {
  return {
    title: `${job.index + 1}. ${job.label}`,
    lines: [
      ['status', words(job.status ?? ABSENT)], ['turnaround', timeText(job.turnaround)],
      ['slowdown', digits(job.slowdown)], ['arrival', timeText(job.arrival)],
      ['wait', timeText(job.wait)], ['service', timeText(job.service)],
      ...(job.reason ? [['reason', job.reason]] : [])
    ]
  };
}

function jobDetails(job) {
  const widths = job.timeline.map(
      ([start, end, width]) => [`${timeText(start)} to ${timeText(end)}`, count(width)]);
  const settings = ['network', 'mode', 'batch', 'steps', 'priority', 'min_width', 'max_width'];
  return html(
      'div', {class: 'details'},
      html(
          'div', {}, html('h3', {}, 'Job'),
          rows(settings.filter((key) => job[key] !== undefined && job[key] !== null)
                   .map((key) => [words(key), String(job[key])]))),
      html('div', {}, html('h3', {}, 'Figures'), rows(jobFacts(job).lines)),
      html('div', {}, html('h3', {}, 'Threads'), rows(widths)));
}

// The policy with the smallest figure, of those that ended.
function bestPolicy(policies, key) {
  const known = policies.filter((policy) => policy.complete !== false && isNumber(policy[key]));
  return known.sort((a, b) => a[key] - b[key])[0];
}

function schedulingVerdict(scheduling) {
  const {policies} = scheduling;
  const shortest = bestPolicy(policies, 'makespan');
  const fairest = bestPolicy(policies, 'mean_slowdown');
  const problems =
      policies
          .filter((policy) => policy.status !== 'OK' || policy.complete === false || policy.failed)
          .map(
              (policy) => `${policy.name ?? ABSENT}: ${words(policy.status ?? ABSENT)}${
                  policy.reason ? `: ${policy.reason}` :
                                  ''}${policy.complete === false ? '; it was interrupted' : ''}${
                  policy.failed ? `; ${plural(policy.failed, 'job')} FAILED` : ''}`);
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Co-scheduling'),
      html('p', {class: 'caption'}, machineText(scheduling.machine)),
      html(
          'dl', {class: 'figures'},
          figure('shortest makespan', timeText(shortest?.makespan), shortest?.name),
          figure('smallest mean slowdown', digits(fairest?.mean_slowdown), fairest?.name),
          figure('jobs', count(scheduling.job_count)), figure('CPUs', count(scheduling.cpus))),
      scheduling.simulated ? html('p', {}, 'Every policy was simulated: no job ran.') : null,
      scheduling.complete === false ?
          html('p', {}, 'The run was interrupted: some policies or jobs are missing.') :
          null,
      list(`${problems.length} of the policies not OK`, problems, true),
      commandLine(scheduling.command));
}

function policyTable(scheduling) {
  const seconds = (key) => (policy) => timeText(policy[key]);
  const number = (key) => (policy) => digits(policy[key]);
  const checked = scheduling.policies.some((policy) => isNumber(policy.speed));
  const columns = [
    ['makespan', seconds('makespan')], ['simulated', seconds('simulated_makespan')],
    ['error', (policy) => percent(policy.simulation_error)],
    ...(checked ? [['speed', number('speed')], ['~equal speed', seconds('common_speed_makespan')]] :
                  []),
    ['wait', seconds('mean_wait')], ['service', seconds('mean_service')],
    ['turnaround', seconds('mean_turnaround')], ['slowdown', number('mean_slowdown')],
    ['largest', number('max_slowdown')], ['fairness', number('fairness')],
    ['CPU', (policy) => percent(policy.cpu_use)], ['jobs/min', number('jobs_per_minute')]
  ];
  const head = ['policy', ...columns.map(([name]) => name), 'status'];
  return html(
      'section', {class: 'picture wide', id: 'policies', 'aria-labelledby': 'policies-title'},
      html('h2', {id: 'policies-title'}, 'Policies'),
      html(
          'p', {class: 'caption'},
          'Wait, service and turnaround are means over the jobs; a slowdown is the turnaround over ' +
              'the time alone at the maximum width, mean and largest.' +
              (checked ?
                   ' Speed is that of the machine around the run, relative to the times ' +
                       'of steps; ~equal speed is an estimate of the makespan if it had been the ' +
                       'same for all policies.' :
                   '')),
      html(
          'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Policies'},
          html(
              'table', {'aria-labelledby': 'policies-title'},
              html(
                  'thead', {},
                  html(
                      'tr', {},
                      head.map(
                          (name, k) => html(
                              'th',
                              {scope: 'col', class: k > 0 && k <= columns.length ? 'number' : ''},
                              name)))),
              html(
                  'tbody', {},
                  scheduling.policies.map(
                      (policy) => html(
                          'tr', {}, html('th', {scope: 'row'}, String(policy.name ?? ABSENT)),
                          columns.map(([, text]) => html('td', {class: 'number'}, text(policy))),
                          html('td', {}, badge(policy.status))))))));
}

const JOB_COLOURS = {
  train: 'node-0',
  infer: 'node-1'
};

// The job's line: waiting as a thin line, then a bar whose height is the number of threads.
function drawJob(group, job, most, x, y, height) {
  const first = job.timeline[0]?.[0];
  if (isNumber(job.arrival) && isNumber(first) && first > job.arrival) {
    group.append(
        line(x(job.arrival), y + height / 2, x(first), y + height / 2, {class: 'waiting'}));
  }
  for (const [start, end, width] of job.timeline) {
    if (!isNumber(start) || !isNumber(end) || !(width > 0)) continue;
    const tall = Math.max(2, height * width / most);
    group.append(rect(
        x(start), y + height - tall, Math.max(0.6, x(end) - x(start)), tall,
        {class: JOB_COLOURS[job.mode] ?? 'shade-none', 'data-width': width}));
  }
}

const SCHEDULE_ROWS = 60;

function schedulePicture(scheduling, view) {
  const {policies, items} = scheduling;
  const ends = items.flatMap((job) => job.timeline.map(([, end]) => end)).filter(isNumber);
  const total = Math.max(...ends, 0);
  const widths = items.flatMap((job) => job.timeline.map(([, , width]) => width)).filter(isNumber);
  const most = Math.max(...widths, 1);
  const every = items.length <= SCHEDULE_ROWS;
  const state = {policy: every ? null : 0};
  const draw = (root, marks, width) => {
    if (!(total > 0)) {
      root.append(label(
          0, 16,
          fitted(
              scheduling.left_out ? 'The page has no jobs: there are too many to draw.' :
                                    'n/a: no job has a time.',
              width)));
      return 24;
    }
    const narrow = width < 640;
    const left = narrow ? 0 : Math.min(220, width * 0.24);
    const right = narrow ? width - 2 : width - 84;
    const height = narrow ? 34 : 20;
    const x = (seconds) => left + (right - left) * seconds / total;
    let y = 0;
    policies.forEach((policy, k) => {
      if (state.policy !== null && state.policy !== k) return;
      const name = `${policy.name ?? ABSENT}${policy.what ? `: ${policy.what}` : ''}`;
      root.append(label(0, y + 14, fitted(name, width)));
      y += 22;
      const own = items.filter((job) => job.policy === k);
      axisBelow(root, total, x, y + own.length * height, y, timeText);
      for (const job of own) {
        const group =
            svg('g', {class: `row ${markClass(job)}`}, rect(0, y, width, height, {class: 'hit'}));
        const text = job.status === 'OK' ? timeText(job.turnaround) : words(job.status ?? ABSENT);
        if (narrow) {
          group.append(
              label(width, y + 13, text, {'text-anchor': 'end', class: 'number'}),
              label(0, y + 13, fitted(job.name, width - textWidth(text) - 12)));
        } else {
          group.append(
              label(width, y + 14, fitted(text, 80), {'text-anchor': 'end', class: 'number'}),
              label(left - 10, y + 14, fitted(job.name, left - 14), {'text-anchor': 'end'}));
        }
        drawJob(group, job, most, x, y + (narrow ? 18 : 3), 14);
        root.append(group);
        marks.add(job.index, group);
        y += height;
      }
      y += 36;
    });
    return Math.max(24, y - 14);
  };
  const names = policies.map((policy, k) => [k, String(policy.name ?? ABSENT)]);
  const buttons = policies.length > 1 ?
      choice(
          'policy', [...(every ? [[null, 'all policies']] : []), ...names], state.policy,
          (k) => {
            state.policy = k;
            picture.fit(true);
          }) :
      null;
  const picture = new Picture(view, {
    id: 'schedule',
    title: 'Jobs over time',
    wide: true,
    draw,
    caption:
        'A line per job from its arrival: a thin line while it waits, then a bar whose height ' +
        `is its number of threads, up to ${most}. The number is the turnaround.`,
    controls: buttons ? [buttons] : null,
    legend: [swatch('train', null, 'node-0'), swatch('infer', null, 'node-1')],
    onChoose: (item) => {
      const {policy} = items[item];
      if (state.policy === null || state.policy === policy) return;
      buttons?.querySelectorAll('button')[policy + (every ? 1 : 0)]?.click();
    }
  });
  return view.add(picture);
}

function jobTable(scheduling, view) {
  return view.add(new ItemTable(view, {
    id: 'row-table',
    title: 'All jobs',
    filterName: 'policy, job, status',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (job) => job.index + 1, String),
      {name: 'job', head: true, text: (job) => job.name},
      {name: 'policy', text: (job) => job.policyName},
      numberColumn('arrival', (job) => job.arrival, timeText),
      numberColumn('wait', (job) => job.wait, timeText),
      numberColumn('service', (job) => job.service, timeText),
      numberColumn('turnaround', (job) => job.turnaround, timeText),
      numberColumn('slowdown', (job) => job.slowdown, digits),
      {name: 'status', text: (job) => words(job.status ?? ABSENT), cell: (job) => badge(job.status)}
    ]
  }));
}
