// The view of one result: its items, its pictures, and the item that is chosen in all of them.

class View {
  // `facts(item)`: {title, lines} of the tooltip. `details(item)`: elements for the panel.
  constructor(result, {facts, details}) {
    this.result = result;
    this.makeFacts = facts;
    this.details = details;
    this.pictures = [];
    this.chosen = null;
    this.known = new Map();
  }

  add(picture) {
    this.pictures.push(picture);
    return picture.section;
  }

  facts(item) {
    if (!this.known.has(item)) this.known.set(item, this.makeFacts(this.result.items[item]));
    return this.known.get(item);
  }

  // null: none. `toggle`: choosing the chosen item again chooses none.
  choose(item, toggle = false) {
    if (toggle && item === this.chosen) item = null;
    for (const picture of this.pictures) {
      if (this.chosen !== null) picture.setChosen(this.chosen, false);
      if (item !== null) picture.setChosen(item, true);
    }
    this.chosen = item;
    document.documentElement.classList.toggle('has-chosen', item !== null);
    writePlace(this.result, item);
    this.showPanel();
  }

  showPanel() {
    const panel = document.getElementById('chosen');
    panel.hidden = this.chosen === null;
    if (panel.hidden) return panel.replaceChildren();
    const item = this.result.items[this.chosen];
    const {title, lines} = this.facts(this.chosen);
    const open = panel.querySelector('details')?.open ?? false;
    const step = (by) => () => {
      const next = this.chosen + by;
      if (this.result.items[next]) this.choose(next);
    };
    panel.replaceChildren(
        html(
            'div', {class: 'chosen-line'}, html('strong', {}, title),
            html(
                'span', {class: 'chosen-facts'},
                lines.slice(0, 4).map(([name, value]) => html('span', {}, `${name} ${value}`))),
            html(
                'span', {class: 'chosen-buttons'},
                html(
                    'button', {
                      type: 'button',
                      onclick: step(-1),
                      'aria-label': `previous ${this.result.itemName}`
                    },
                    '‹'),
                html(
                    'button', {
                      type: 'button',
                      onclick: step(1),
                      'aria-label': `next ${this.result.itemName}`
                    },
                    '›'),
                copyButton(commandOf(this.result, item)),
                html('button', {type: 'button', onclick: () => this.choose(null)}, 'Close'))),
        html(
            'details', {open},
            html('summary', {}, item.hot?.length ? 'All values, hot loops' : 'All values'),
            this.details(item)));
  }
}

// The command that measures the item again.
const commandOf = (result, item) => item?.command ?? result.command ?? null;

// The place in the URL: the shown result, if there are several, and the chosen item, from 1.
function writePlace(result, item) {
  const parts = [];
  if (results.length > 1) parts.push(`result=${result.index + 1}`);
  if (item !== null) parts.push(`${result.itemName}=${item + 1}`);
  const place = `#${parts.join('&')}`;
  if (place === (location.hash || '#')) return;
  history.replaceState(null, '', place);
}

function readPlace() {
  const place = new URLSearchParams(location.hash.slice(1));
  const index = Number(place.get('result') ?? 1) - 1;
  const result = results[index] ?? results[0];
  const item = Number(place.get(result.itemName) ?? 0) - 1;
  return {result, item: result.items[item] ? item : null};
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = html('textarea', {class: 'copy-area', readonly: true}, text);
    document.body.append(area);
    area.select();
    const done = document.execCommand?.('copy') ?? false;
    area.remove();
    return done;
  }
}

// Copies the command. If the browser refuses, the command is shown and selected instead.
function copyButton(command, name = 'Copy command') {
  if (!command) return null;
  const button = html(
      'button', {type: 'button', class: 'copy', title: command, 'aria-label': 'Copy command'},
      name);
  button.addEventListener('click', async (event) => {
    event.stopPropagation();
    if (await copied(command)) {
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = name;
      }, 1500);
      return;
    }
    const field = html('input', {
      class: 'command-field',
      readonly: true,
      value: command,
      'aria-label': 'command; press Ctrl+C to copy it'
    });
    button.replaceWith(field);
    field.focus();
    field.select();
  });
  return button;
}
