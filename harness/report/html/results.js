// The embedded data: profiles get their stages back from the columns, every item gets its label.

const GROUPS = ['forward', 'backward', 'update', 'reorder', 'loss'];
const GROUP_OF_PASS = {
  backward_data: 'backward',
  backward_weights: 'backward'
};

function groupOf(pass) {
  const group = GROUP_OF_PASS[pass] ?? pass;
  return GROUPS.includes(group) ? group : 'other';
}

// "conv1 backward weights"; "loss" for the stage loss of the pass loss.
function labelOf({name, pass}) {
  const known = String(name ?? '?');
  return !pass || known === pass ? known : `${known} ${words(pass)}`;
}

function timeOf(cells) {
  return cells ? {median: cells[0], min: cells[1], p90: cells[2], n: cells[3]} : null;
}

function stageAt(columns, i) {
  const text = (at) => (at === null || at === undefined ? null : columns.texts[at]);
  const stage = {index: i, time: timeOf(columns.time.seconds[i]), regimes: {}};
  for (const [key, list] of Object.entries(columns.text ?? {})) stage[key] = text(list[i]);
  for (const [key, list] of Object.entries(columns.number ?? {})) stage[key] = list[i];
  for (const [regime, list] of Object.entries(columns.time)) {
    if (regime !== 'seconds') stage.regimes[regime] = timeOf(list[i]);
  }
  for (const [key, {names, rows}] of Object.entries(columns.nodes ?? {})) {
    stage[key] = rows[i] ? new Map(names.map((name, k) => [name, rows[i][k]])) : null;
  }
  const roof = columns.roofline?.[i];
  stage.roofline =
      roof && {rate: roof[0], l1: roof[1], dram: roof[2], attainable: roof[3], roof: text(roof[4])};
  const counted = columns.events?.rows[i];
  stage.events = counted ? columns.events.names.map((name, k) => [name, counted[k]]) : [];
  stage.hot = columns.hot?.[i] ?? [];
  stage.group = groupOf(stage.pass);
  stage.label = labelOf(stage);
  // A FAILED stage has no time.
  stage.seconds = stage.status === 'FAILED' ? null : stage.time?.median ?? null;
  return stage;
}

// As in the table on the terminal: of a DEGRADED step at most the sum of its stages.
function secondsForShares({step, items}) {
  const median = step?.seconds?.median;
  if (step?.status !== 'DEGRADED' || !isNumber(median) || items.length === 0) return median;
  if (items.some((stage) => !isNumber(stage.seconds))) return median;
  return Math.min(median, items.reduce((sum, stage) => sum + stage.seconds, 0));
}

function readProfile(data) {
  const columns = data.stages;
  data.items = Array.from({length: columns.count}, (_, i) => stageAt(columns, i));
  data.subject = new Map(data.subject);
  data.secondsForShares = secondsForShares(data);
  const total = data.secondsForShares;
  for (const stage of data.items) {
    const known = isNumber(stage.seconds) && isNumber(total) && total > 0;
    stage.share = known ? stage.seconds / total : null;
  }
  data.itemName = 'stage';
  const s = data.subject;
  data.title = `${s.get('network') ?? 'profile'} ${s.get('mode') ?? ''}`.trim();
  data.facts = ['batch', 'dtype', 'backend', 'threads']
                   .filter((key) => s.has(key))
                   .map((key) => `${key} ${s.get(key)}`)
                   .join(', ');
  return data;
}

// The time of a case or row: a summary, or an object that has one, or a bare number.
function summaryOf(value) {
  if (isNumber(value)) return {median: value};
  if (value && isNumber(value.median)) return value;
  return value?.seconds ? summaryOf(value.seconds) : null;
}

// The bar of a case: the means of the parts, which sum to the mean step, if the sweep has them;
// otherwise the median step, of which the parts that are not known are "other".
function barOf(one, time) {
  const {means} = one;
  if (means && isNumber(means.step)) {
    const [low, high] = Array.isArray(one.step?.ci95) ? one.step.ci95 : [];
    return {
      total: means.step,
      compute: means.compute,
      wait: means.input_wait,
      other: means.other,
      low,
      high,
      mean: true
    };
  }
  if (!time) return null;
  const compute = summaryOf(one.compute)?.median;
  const wait = summaryOf(one.input_wait)?.median;
  const other =
      summaryOf(one.other)?.median ?? Math.max(0, time.median - (compute ?? 0) - (wait ?? 0));
  return {total: time.median, compute, wait, other, low: time.min, high: time.p90, mean: false};
}

function readSweep(data) {
  data.items = data.cases.map((one, index) => {
    const timed = ['OK', 'DEGRADED', 'INVALID'].includes(one.status);
    const time = timed ? summaryOf(one.step) : null;
    // (without the digest at its end, which says nothing to a reader)
    const label = one.id ? String(one.id).replace(/-[0-9a-f]{8}$/, '') :
                           [one.network, one.mode, one.batch, one.dtype].filter(Boolean).join(' ');
    const bar = timed ? barOf(one, time) : null;
    const images = timed ? summaryOf(one.images_per_second)?.median ?? null : null;
    return {...one, index, label, time, bar, images, seconds: bar?.total ?? null};
  });
  data.means = data.items.some((one) => one.bar?.mean);
  data.itemName = 'case';
  data.title = 'sweep';
  data.facts = `${data.items.length} cases`;
  return data;
}

function readComparison(data) {
  data.items = data.rows.map((row, index) => ({
                               ...row,
                               index,
                               label: (row.case ? `${row.case}: ` : '') + labelOf(row),
                               before: summaryOf(row.a),
                               after: summaryOf(row.b)
                             }));
  data.ratios = COMPARED;
  // As in the table on the terminal: of one machine, the ceilings are the same.
  data.normalised = (data.differences ?? []).some((line) => line.startsWith('machine: CPU')) &&
      data.items.some((row) => isNumber(row.ratio_normalised));
  data.itemName = 'row';
  data.title = 'comparison';
  data.facts = typeof data.a === 'string' && typeof data.b === 'string' ?
      `${data.a} → ${data.b}` :
      `${data.items.length} rows`;
  return data;
}

// A row for each machine, beside those of the other machines for the same stage. A single case has
// its step apart from the rows.
function readMachines(data) {
  // (without the digest at its end, unless two machines differ in nothing else)
  const shortened = data.machines.map(({name}) => String(name ?? '?').replace(/-[0-9a-f]{8}$/, ''));
  const distinct = new Set(shortened).size === shortened.length;
  const places = new Map();
  const rowsOf = (machine, k) => {
    const machineName = String(machine.name ?? '?');
    const seen = new Map();
    const step = machine.step?.name === 'step' ? [machine.step] : [];
    return [...step, ...machine.rows].map((row) => {
      const name = JSON.stringify([row.case, row.name, row.pass]);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      const key = `${name} ${seen.get(name)}`;
      if (!places.has(key)) places.set(key, places.size);
      return {
        ...row,
        place: places.get(key),
        machine: machineName,
        label: `${distinct ? shortened[k] : machineName}: ${row.case ? `${row.case}: ` : ''}${
            labelOf(row)}`
      };
    });
  };
  data.items =
      data.machines.flatMap(rowsOf)
          .sort((a, b) => a.place - b.place)
          .map((row, index) => ({
                 ...row,
                 index,
                 before: summaryOf(row.a),
                 after: summaryOf(row.b)
               }));
  data.ratios = {...COMPARED, title: 'Machines side by side'};
  data.normalised = data.items.some((row) => isNumber(row.ratio_normalised));
  data.itemName = 'row';
  data.title = 'machines';
  data.facts =
      [data.chosen, ...data.machines.map(({name}) => name)].map((x) => x ?? '?').join(', ');
  return data;
}

const COMPARED = {
  title: 'Differences',
  less: 'b faster',
  more: 'b slower',
  caption: 'The time of b over the time of a, on a logarithmic axis, with its 95 % interval. ' +
      'Triangles and * mark significant differences: ▶ b is slower, ◀ b is faster.'
};

const SHARED = {
  title: 'Slowdowns',
  less: 'faster',
  more: 'slower',
  caption: 'The time beside the others over the time alone, on a logarithmic axis, with its 95 % ' +
      'interval. Triangles and * mark rows whose interval does not contain 1.'
};

// A row per stage and iteration of each workload, or per pair of a matrix.
function readSharing(data) {
  const row = (one, label) => ({
    ...one,
    label,
    ratio: one.slowdown,
    significant: one.verdict === 'slower' || one.verdict === 'faster',
    before: summaryOf(one.solo),
    after: summaryOf(one.shared)
  });
  const members = data.group.flatMap(
      ({stages, ...one}) =>
          [row(one, `${one.workload ?? '?'}: iteration`),
           ...stages.map((stage) => row(stage, `${one.workload ?? '?'}: ${labelOf(stage)}`))]);
  const pairs = data.matrix.map(
      (pair) => row(pair, `${pair.victim ?? '?'} beside ${pair.aggressor ?? '?'}`));
  data.items = [...members, ...pairs].map((one, index) => ({...one, index}));
  data.ratios = SHARED;
  data.itemName = 'row';
  data.title = 'sharing';
  data.facts = data.matrix.length > 0 ?
      plural(data.matrix.length, 'pair') :
      data.group.map((one) => one.workload ?? '?').join(', ');
  return data;
}

const TRACED = {
  title: 'Here and in the framework',
  less: 'faster here',
  more: 'slower here',
  caption: "The time here over the framework's, on a logarithmic axis."
};

const nodesOf = (nodes) => (nodes ? new Map(Object.entries(nodes)) : null);

// A row for each kind of primitive, as the log has it.
function readTrace(data) {
  // The status is that of the measurement here, and a live run may have none.
  const here = !data.live || data.rows.some((row) => isNumber(row.measured_seconds));
  data.items = data.rows.map(
      (row, index) => ({
        ...row,
        index,
        label: [row.module, row.operator, row.primitive, words(row.pass ?? row.prop_kind), row.problem]
                   .filter(Boolean)
                   .join(' '),
        status: here ? row.status : null,
        live_topdown: nodesOf(row.live_topdown),
        topdown: nodesOf(row.topdown),
        topdown_bounds: nodesOf(row.topdown_bounds),
        ratio: row.framework_seconds > 0 && isNumber(row.measured_seconds) ?
            row.measured_seconds / row.framework_seconds :
            null
      }));
  data.ratios = TRACED;
  data.here = here;
  data.itemName = 'row';
  data.title = data.live ? 'live run' : 'trace';
  data.facts = plural(data.items.length, 'row');
  return data;
}

// A job of each policy.
function readScheduling(data) {
  data.items = data.policies
                   .flatMap(
                       (policy, k) => policy.jobs.map(
                           (job, n) => ({
                             ...job,
                             policy: k,
                             policyName: String(policy.name ?? ABSENT),
                             name: `${n + 1} ${job.network ?? '?'} ${job.mode ?? ''}`.trim()
                           })))
                   .map((job, index) => ({...job, index, label: `${job.policyName}: ${job.name}`}));
  data.itemName = 'job';
  data.title = 'co-scheduling';
  data.facts = data.policies.map((policy) => policy.name ?? '?').join(', ');
  return data;
}

const READERS = {
  profile: readProfile,
  sweep: readSweep,
  comparison: readComparison,
  machines: readMachines,
  sharing: readSharing,
  scheduling: readScheduling,
  trace: readTrace
};

function readResults() {
  const data = JSON.parse(document.getElementById('data').textContent);
  return data.results.map((result, index) => Object.assign(READERS[result.kind](result), {index}));
}
