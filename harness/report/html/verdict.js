// The first section: what was measured, whether it holds, and where the time goes.

function figure(name, value, note) {
  return html(
      'div', {class: 'figure'}, html('dt', {}, name),
      html(
          'dd', {}, html('span', {class: 'figure-value'}, value),
          note ? html('span', {class: 'figure-note'}, note) : null));
}

function verdictLine(status, reason) {
  return html('p', {class: 'verdict'}, badge(status), reason ? ` ${reason}` : '');
}

const machineText = (machine) => {
  if (!machine) return `machine ${ABSENT}`;
  const {cpu} = machine;
  const parts = [
    cpu?.brand ?? 'CPU n/a', cpu?.microarchitecture,
    isNumber(machine.allowed_cores) ? `${machine.allowed_cores} cores` : null,
    cpu?.hypervisor ? `virtual machine (${cpu.hypervisor})` : null, machine.operating_system
  ];
  return parts.filter(Boolean).join(', ');
};

function commandLine(command) {
  return command ? html('p', {class: 'command'}, html('code', {}, command), copyButton(command)) :
                   null;
}

function list(title, texts, open) {
  if (texts.length === 0) return null;
  return html(
      'details', {class: 'notes', open}, html('summary', {}, title),
      html('ul', {}, texts.map((text) => html('li', {}, text))));
}

// Stages that are not simply OK and whose status or reason differs from the step's, by status and
// reason.
function otherVerdicts(profile) {
  const groups = new Map();
  for (const stage of profile.items) {
    if (stage.status === 'OK' && !stage.reason) continue;
    if (stage.status === profile.step.status && stage.reason === profile.step.reason) continue;
    const text = `${stage.status ?? ABSENT}${stage.reason ? `: ${stage.reason}` : ''}`;
    if (!groups.has(text)) groups.set(text, []);
    groups.get(text).push(stage.label);
  }
  return [...groups].map(([text, labels]) => {
    const more = labels.length > 3 ? ` and ${labels.length - 3} more` : '';
    return `${labels.slice(0, 3).join(', ')}${more}: ${text}`;
  });
}

function costliest(profile, view) {
  const timed = profile.items.filter((stage) => isNumber(stage.seconds));
  timed.sort((a, b) => b.seconds - a.seconds);
  if (timed.length === 0) return html('p', {}, 'No stage has a time.');
  return html(
      'ol', {class: 'costliest'},
      timed.slice(0, 3).map(
          (stage) => html(
              'li', {},
              html(
                  'button',
                  {type: 'button', class: 'link', onclick: () => view.choose(stage.index)},
                  stage.label),
              ` ${timeText(stage.seconds)}, `, html('strong', {}, percent(stage.share)),
              ' of the step: ', whyOf(stage),
              stage.status === 'OK' ? null : [' ', badge(stage.status)])));
}

// The step that was fed by its input pipeline; nothing if that was not measured.
function fedFigure(fed) {
  if (!fed) return null;
  const parts = [['compute', fed.compute], ['input wait', fed.input_wait], ['other', fed.other]];
  return figure(
      'mean step with its input', timeText(fed.step?.mean),
      parts.map(([name, part]) => `${name} ${timeText(part?.mean)}`).join(', '));
}

function profileVerdict(profile, view) {
  const step = profile.step ?? {};
  const seconds = step.status === 'FAILED' ? null : step.seconds;
  const facts = [...profile.subject]
                    .filter(([key]) => key !== 'network' && key !== 'mode')
                    .map(([key, value]) => `${key} ${value}`)
                    .join(', ');
  const warnings = [
    ...(profile.warnings ?? []),
    profile.partial ? 'The run was interrupted: some stages are missing.' : null,
    ...otherVerdicts(profile),
    ...(profile.machine?.doubts ?? []),
    step.ceiling_status && step.ceiling_status !== 'OK' ?
        `ceiling ${step.ceiling}: ${step.ceiling_status}: ${step.ceiling_reason}` :
        null,
  ].filter(Boolean);
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, profile.title),
      html('p', {class: 'caption'}, facts, html('br'), machineText(profile.machine)),
      verdictLine(step.status, step.reason),
      html(
          'dl', {class: 'figures'},
          figure(
              'step', timeText(seconds?.median),
              seconds ? `${interval(seconds)} (min to p90), n ${count(seconds.n)}` : null),
          figure('images per second', digits(step.images_per_second)),
          figure('GFLOP/s', digits(step.gflops)),
          figure('of peak', percent(step.peak_fraction), step.ceiling),
          fedFigure(profile.fed_step)),
      html('h3', {}, 'Most time'), costliest(profile, view),
      list(plural(warnings.length, 'warning'), warnings, true),
      list(plural((profile.notes ?? []).length, 'note'), profile.notes ?? [], false),
      commandLine(profile.command));
}
