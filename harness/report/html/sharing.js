// Workloads that ran at once: what each stage, or each pair of a matrix, loses to the others.

const FIGURES =
    [['stp', 'system throughput (STP)'], ['antt', 'turnaround (ANTT)'], ['fairness', 'fairness']];

function slowdownFacts(row) {
  return {
    title: `${row.index + 1}. ${row.label}`,
    lines: [
      ['slowdown', ratioText(row)], ['95 % interval', ratioInterval(row)],
      ['verdict', row.verdict ?? ABSENT], ['alone', timeText(row.before?.median)],
      ['beside the others', timeText(row.after?.median)], ['n alone', count(row.before?.n)],
      ['n beside the others', count(row.after?.n)], ...(row.reason ? [['reason', row.reason]] : [])
    ]
  };
}

function slowdownDetails(row) {
  return html(
      'div', {class: 'details'},
      html('div', {}, html('h3', {}, 'Row'), rows(slowdownFacts(row).lines)));
}

function sharingVerdict(sharing) {
  const slower = sharing.items.filter((row) => row.verdict === 'slower').length;
  const members = sharing.group.map(
      (one) => `${one.workload ?? ABSENT}${
          Array.isArray(one.cpus) ?
              ` (CPUs ${one.cpus.join(', ')})` :
              ''}: ${words(one.status ?? ABSENT)}${one.reason ? `: ${one.reason}` : ''}`);
  const bounds = (name) => ratioInterval({ci95: sharing[`${name}_ci95`]});
  return html(
      'section', {class: 'picture wide opening', 'aria-labelledby': 'verdict-title'},
      html('h1', {id: 'verdict-title'}, 'Sharing'),
      html('p', {class: 'caption'}, machineText(sharing.machine)),
      html(
          'dl', {class: 'figures'},
          FIGURES.map(
              ([key, name]) =>
                  figure(name, ratioText({ratio: sharing[key]}), `95 % interval ${bounds(key)}`)),
          figure('slower rows', `${slower} of ${sharing.items.length}`),
          figure(
              'rounds', count(sharing.rounds), `windows of ${timeText(sharing.window_seconds)}`)),
      sharing.partial ? html('p', {}, 'The run was interrupted: some rounds are missing.') : null,
      list(plural(members.length, 'workload'), members, true), commandLine(sharing.command));
}

function slowdownTable(sharing, view) {
  return view.add(new ItemTable(view, {
    id: 'row-table',
    title: 'All rows',
    filterName: 'workload, name, verdict',
    caption: 'Choose a heading to sort by it.',
    columns: [
      numberColumn('#', (row) => row.index + 1, String),
      {name: 'row', head: true, text: (row) => row.label},
      numberColumn('alone', (row) => row.before?.median, timeText),
      numberColumn('beside the others', (row) => row.after?.median, timeText),
      {...numberColumn('slowdown', (row) => row.ratio, digits), text: ratioText},
      {name: '95 % interval', number: true, value: (row) => endsOf(row)[0], text: ratioInterval},
      {name: 'verdict', text: (row) => row.verdict ?? ABSENT}
    ]
  }));
}
