// A sortable table of the items, with a filter. It scrolls inside its box.

// A column: {name, text(item), value(item) to sort by, number: right-aligned, head: names the row}.
class ItemTable {
  constructor(view, {id, title, columns, caption, filterName}) {
    this.view = view;
    this.columns = columns;
    this.order = view.result.items.map((_, i) => i);
    this.sorted = {column: null, down: true};
    this.body = html('tbody');
    this.count = html('span', {class: 'caption', role: 'status'});
    this.filter = html('input', {
      type: 'search',
      id: `${id}-filter`,
      placeholder: filterName,
      'aria-label': `filter: ${filterName}`,
      oninput: () => this.apply()
    });
    this.heads = columns.map(
        (column, k) => html(
            'th', {
              scope: 'col',
              class: column.number ? 'number' : column.className ?? '',
              'aria-sort': 'none'
            },
            html('button', {type: 'button', onclick: () => this.sort(k)}, column.name)));
    const table = html(
        'table', {'aria-labelledby': `${id}-title`, role: 'grid', 'aria-multiselectable': 'false'},
        html('thead', {}, html('tr', {}, this.heads)), this.body);
    this.marks = new Marks(view, this.body);
    this.section = html(
        'section', {class: 'picture wide', id, 'aria-labelledby': `${id}-title`},
        html('h2', {id: `${id}-title`}, title), html('p', {class: 'caption'}, caption),
        html('div', {class: 'controls'}, this.filter, this.count),
        html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title}, table));
    this.made = new Map();
  }

  row(i) {
    if (!this.made.has(i)) {
      const item = this.view.result.items[i];
      const cells = this.columns.map(
          (column) => html(
              column.head ? 'th' : 'td', {
                class: column.number ? 'number' : column.className ?? '',
                scope: column.head ? 'row' : null
              },
              column.cell ? column.cell(item) : column.text(item)));
      this.made.set(i, html('tr', {class: markClass(item)}, cells));
    }
    return this.made.get(i);
  }

  sort(k) {
    const {sorted} = this;
    const down = this.columns[k].number ?? false;
    if (sorted.column === k)
      sorted.down = !sorted.down;
    else
      Object.assign(sorted, {column: k, down});
    this.heads.forEach(
        (head, i) => head.setAttribute(
            'aria-sort',
            i !== k         ? 'none' :
                sorted.down ? 'descending' :
                              'ascending'));
    this.apply();
  }

  // Absent values are last in both directions.
  compare(a, b) {
    const {column, down} = this.sorted;
    const {value, text} = this.columns[column];
    const [x, y] = [a, b].map((i) => (value ?? text)(this.view.result.items[i]) ?? null);
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    const order = typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x - y;
    return (down ? -order : order) || a - b;
  }

  apply() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const items = this.view.result.items;
    let shown = items.map((_, i) => i);
    if (words.length > 0) {
      shown = shown.filter((i) => words.every((word) => this.texts(items[i]).includes(word)));
    }
    if (this.sorted.column !== null) shown.sort((a, b) => this.compare(a, b));
    this.marks.clear();
    const rows = shown.map((i) => this.marks.add(i, this.row(i)));
    this.body.replaceChildren(...rows);
    this.count.textContent = shown.length === items.length ?
        `${items.length} rows` :
        `${shown.length} of ${items.length} rows`;
    if (this.marks.byItem.has(this.view.chosen)) this.marks.setChosen(this.view.chosen, true);
  }

  texts(item) {
    this.known ??= new Map();
    if (!this.known.has(item.index)) {
      this.known.set(
          item.index,
          this.columns.filter((column) => !column.number)
              .map((column) => column.text(item))
              .join(' ')
              .toLowerCase());
    }
    return this.known.get(item.index);
  }

  fit() {
    if (this.body.childElementCount === 0 && this.filter.value === '') this.apply();
  }

  setChosen(item, is) {
    this.marks.setChosen(item, is);
    const row = this.made.get(item);
    const box = this.section.querySelector('.scroll');
    if (!is || !row?.isConnected || row.contains(document.activeElement)) return;
    // Scrolls the box only, not the page.
    const head = 34;
    if (row.offsetTop < box.scrollTop + head) box.scrollTop = row.offsetTop - head;
    const below = row.offsetTop + row.offsetHeight - box.clientHeight;
    if (below > box.scrollTop) box.scrollTop = below;
  }
}

// By keyboard, the panel of the chosen row has the button: one in each row would be many stops.
function copyColumn(result) {
  const cell = (item) => {
    const button = copyButton(commandOf(result, item), 'Copy');
    button?.setAttribute('tabindex', -1);
    return button;
  };
  return {name: 'again', className: 'again', text: () => '', cell};
}

// A column of numbers.
function numberColumn(name, value, format) {
  return {name, number: true, value, text: (item) => format(value(item))};
}

function stageTable(profile, view) {
  const failed = (stage) => stage.status === 'FAILED';
  return view.add(new ItemTable(view, {
    id: 'stages',
    title: 'Stages',
    filterName: 'name, pass, implementation, status',
    caption: 'Choose a heading to sort by it, and a row to mark the stage in every picture.',
    columns: [
      numberColumn('#', (stage) => stage.index + 1, String),
      {name: 'stage', head: true, text: (stage) => String(stage.name ?? ABSENT)},
      {name: 'pass', text: (stage) => words(stage.pass ?? ABSENT)}, {
        name: 'status',
        text: (stage) => String(stage.status ?? ABSENT),
        cell: (stage) => badge(stage.status)
      },
      numberColumn('share', (stage) => stage.share, percent),
      numberColumn('time', (stage) => stage.seconds, timeText),
      numberColumn('min', (stage) => (failed(stage) ? null : stage.time?.min), timeText),
      numberColumn('p90', (stage) => (failed(stage) ? null : stage.time?.p90), timeText),
      numberColumn('n', (stage) => (failed(stage) ? null : stage.time?.n), count),
      numberColumn('GFLOP/s', (stage) => stage.gflops, digits),
      numberColumn('peak', (stage) => stage.peak_fraction, percent),
      numberColumn('FLOPs', (stage) => stage.flops, (x) => rate(x, '')),
      numberColumn('bytes', (stage) => stage.bytes, bytes),
      {name: 'backend', text: (stage) => String(stage.backend ?? ABSENT)},
      {name: 'implementation', text: (stage) => String(stage.implementation ?? ABSENT)},
      copyColumn(profile)
    ]
  }));
}
