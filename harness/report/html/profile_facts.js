// What the tooltip and the panel say about a stage.

const interval = (time) =>
    (time && isNumber(time.min) && isNumber(time.p90) ?
         `${timeText(time.min)} to ${timeText(time.p90)}` :
         ABSENT);

const timeText = time;

const share = (bound) =>
    (Array.isArray(bound) ? `${percent(bound[0])} to ${percent(bound[1])}` : percent(bound));

function stageFacts(stage) {
  const failed = stage.status === 'FAILED';
  const lines = [
    ['time', timeText(stage.seconds)],
    ['of the step', percent(stage.share)],
    ['min to p90', failed ? ABSENT : interval(stage.time)],
    ['n', failed ? ABSENT : count(stage.time?.n)],
    ['rate', isNumber(stage.gflops) ? `${digits(stage.gflops)} GFLOP/s` : ABSENT],
    ['of peak', percent(stage.peak_fraction)],
  ];
  if (stage.bound_by) lines.splice(2, 0, ['bound by', stage.bound_by]);
  if (stage.status !== 'OK') lines.unshift(['status', words(stage.status ?? ABSENT)]);
  const counted = stage.events.filter(([, value]) => isNumber(value) && value !== 0);
  const named =
      counted.filter(([name]) => /instructions$|flops$|cycles|misses|switches/.test(name));
  for (const [name, value] of (named.length > 0 ? named : counted).slice(0, 4)) {
    lines.push([name, count(value)]);
  }
  return {title: `${stage.index + 1}. ${stage.label}`, lines};
}

const rows = (list) => html(
    'dl', {class: 'values'},
    list.filter(Boolean).map(
        ([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))));

function nodeRows(title, nodes, estimate) {
  if (!nodes) return null;
  return html(
      'div', {}, html('h3', {}, title, estimate ? ' (estimate)' : ''),
      rows([...nodes].map(([name, value]) => [words(name), share(value)])));
}

// The tree, the parts of a node after it.
function treeRows(stage) {
  if (!stage.tree) {
    return stage.tree_reason ?
        html('p', {class: 'caption'}, `No Top-Down tree: ${stage.tree_reason}.`) :
        null;
  }
  return html(
      'div', {}, html('h3', {}, 'Top-Down tree'),
      rows([...stage.tree]
               .filter(([, value]) => value !== null)
               .map(
                   ([name, value]) =>
                       [PARTS_OF_MEMORY.includes(name) ? `… ${words(name)}` : words(name),
                        share(value)])));
}

function reasonRow(name, text) {
  return text ? [name, text] : null;
}

// What binds the stage, or why that is not decided.
function boundByRow(stage) {
  if (stage.bound_by) return ['bound by', stage.bound_by];
  return stage.bound_by_reason ? ['bound by', `not decided: ${stage.bound_by_reason}`] : null;
}

// The loop, what binds it, and its instructions.
function loopSection(loop) {
  const binds = loop.bound_by ? `${loop.bound_by.what} ${percent(loop.bound_by.share)}` :
                                `not decided: ${loop.bound_by_reason ?? ABSENT}`;
  return html(
      'div', {class: 'loop'}, html('h3', {}, 'Hot loop (counted): ', loop.place), rows([
        ['of the instructions', percent(loop.instruction_share)],
        isNumber(loop.flop_share) ? ['of the FLOPs', percent(loop.flop_share)] : null,
        ['iterations', count(loop.iterations)],
        ['instructions an iteration', digits(loop.instructions)],
        ['FLOPs an iteration', digits(loop.flops)], ['loads an iteration', digits(loop.loads)],
        ['stores an iteration', digits(loop.stores)],
        loop.spills > 0 ? ['spills an iteration', digits(loop.spills)] : null,
        isNumber(loop.cycles) ? ['cycles an iteration, modelled', digits(loop.cycles)] : null,
        isNumber(loop.cycles) ? ['bound by, modelled', binds] : null
      ]),
      html(
          'pre', {tabindex: '0', 'aria-label': `instructions of ${loop.place}`},
          loop.listing.join('\n')));
}

function stageDetails(stage) {
  const roof = stage.roofline;
  const failed = stage.status === 'FAILED';
  const left =
      html('div', {}, html('h3', {}, 'Stage'), rows([
             ['status', words(stage.status ?? ABSENT)], reasonRow('reason', stage.reason),
             boundByRow(stage), ['operation', stage.op ?? ABSENT],
             ['backend', stage.backend ?? ABSENT],
             ['implementation', stage.implementation ?? ABSENT], ['ISA', stage.isa ?? ABSENT],
             ['regime', stage.regime ?? ABSENT], ['time', timeText(stage.seconds)],
             ['min to p90', failed ? ABSENT : interval(stage.time)],
             ['n', failed ? ABSENT : count(stage.time?.n)],
             ...Object.entries(stage.regimes)
                 .map(
                     ([name, time]) =>
                         [`time, ${name}`,
                          failed ? ABSENT : `${timeText(time?.median)} (${interval(time)})`])
           ]));
  const work = html(
      'div', {}, html('h3', {}, 'Work'), rows([
        ['FLOPs, defined', count(stage.flops)], ['FLOPs, executed', count(stage.flops_counted)],
        ['bytes, compulsory', bytes(stage.bytes)], ['GFLOP/s', digits(stage.gflops)],
        ['of peak', percent(stage.peak_fraction)], ['ceiling', stage.ceiling ?? ABSENT],
        stage.ceiling_status && stage.ceiling_status !== 'OK' ?
            ['ceiling status', `${stage.ceiling_status}: ${stage.ceiling_reason ?? ''}`] :
            null,
        roof ? ['attainable', rate(roof.attainable, 'FLOP/s')] : null,
        roof?.roof ? ['lowest roof', roof.roof] : null,
        roof ? ['FLOP per byte, memory', digits(roof.dram)] : null,
        roof ? ['FLOP per byte, L1', digits(roof.l1)] : null,
        isNumber(stage.running_fraction) ? ['events counted for', percent(stage.running_fraction)] :
                                           null
      ]));
  const counted = stage.events.filter(([, value]) => value !== null);
  const events = counted.length === 0 && !stage.counts_reason ?
      null :
      html('div', {}, html('h3', {}, 'Events per step'), rows([
             reasonRow('note', stage.counts_reason),
             ...counted.map(([name, value]) => [name, count(value)])
           ]));
  return html(
      'div', {class: 'details'}, left, work, nodeRows('Top-Down', stage.topdown, false),
      treeRows(stage), nodeRows('Top-Down bounds', stage.topdown_bounds, true),
      nodeRows('Top-Down by experiment', stage.topdown_experiment, false),
      stage.topdown_bounds_reason ?
          html('p', {class: 'caption'}, `No Top-Down bounds: ${stage.topdown_bounds_reason}.`) :
          null,
      events, stage.hot.map(loopSection));
}

// The largest loss of Top-Down's level 1, where it was measured.
function largestLoss(stage) {
  const losses = ['Frontend_Bound', 'Bad_Speculation', 'Backend_Bound']
                     .map((name) => [name, stage.topdown?.get(name)])
                     .filter(([, value]) => isNumber(value));
  losses.sort((a, b) => b[1] - a[1]);
  return losses[0] ? `${words(losses[0][0])} ${percent(losses[0][1])}` : null;
}

// The loss whose lower bound is the highest, if that says anything.
function largestBound(nodes, title) {
  if (!nodes) return null;
  const known = [...nodes].filter(
      ([name, value]) =>
          Array.isArray(value) && value[0] >= 0.1 && name !== 'Retiring' && name !== 'Rest');
  known.sort((a, b) => b[1][0] - a[1][0]);
  return known[0] ? `${words(known[0][0])} ${share(known[0][1])} (${title})` : null;
}

// Why a stage takes its time, as far as the data says.
function whyOf(stage) {
  const reasons = [];
  if (stage.bound_by) reasons.push(`bound by ${stage.bound_by}`);
  if (isNumber(stage.peak_fraction)) reasons.push(`${percent(stage.peak_fraction)} of peak`);
  const found = largestLoss(stage) ?? largestBound(stage.topdown_experiment, 'by experiment') ??
      largestBound(stage.topdown_bounds, 'estimate');
  if (found) reasons.push(found);
  if (stage.roofline?.roof && isNumber(stage.roofline.attainable)) {
    reasons.push(
        `lowest roof ${stage.roofline.roof}, ${rate(stage.roofline.attainable, 'FLOP/s')}`);
  }
  return reasons.length > 0 ? reasons.join('; ') : 'n/a: no valid ceiling and no Top-Down figures';
}
