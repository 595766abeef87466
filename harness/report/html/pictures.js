// A picture with its heading, its explanation and its legend. It is drawn for the width that the
// window leaves it, and drawn again when that changes.

const fontSize = 12;

class Picture {
  // `draw(svg, marks, width)` returns the height. `legend`: swatches; `controls`: elements.
  constructor(view, {id, title, caption, draw, legend, controls, wide, onChoose}) {
    this.view = view;
    this.draw = draw;
    this.onChoose = onChoose;
    this.width = 0;
    this.svg = svg('svg', {role: 'listbox', 'aria-label': title, 'aria-orientation': 'horizontal'});
    this.plot = html('div', {class: 'plot'}, this.svg);
    // (not on the svg: with listeners of focus events it would be a stop of the tab key)
    this.marks = new Marks(view, this.plot);
    this.caption = html('p', {class: 'caption'}, caption);
    this.section = html(
        'section', {class: `picture ${wide ? 'wide' : ''}`, id, 'aria-labelledby': `${id}-title`},
        html('h2', {id: `${id}-title`}, title), this.caption,
        controls ? html('div', {class: 'controls'}, controls) : null, this.plot,
        legend ? html('ul', {class: 'legend'}, legend) : null);
  }

  fit(again) {
    const width = Math.floor(this.plot.clientWidth);
    if (width === 0 || (width === this.width && !again)) return;
    this.width = width;
    this.marks.clear();
    this.svg.replaceChildren();
    const height = Math.ceil(this.draw(this.svg, this.marks, width));
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.setAttribute('height', height);
    if (this.marks.byItem.has(this.view.chosen)) this.marks.setChosen(this.view.chosen, true);
  }

  setChosen(item, is) {
    this.marks.setChosen(item, is);
    if (is) this.onChoose?.(item, this);
  }
}

// A legend's entry: a swatch and a name.
function swatch(name, fillValue, className) {
  const box =
      svg('svg', {width: 18, height: 12, 'aria-hidden': 'true', class: 'swatch'},
          rect(0.5, 0.5, 17, 11, {fill: fillValue, class: className}));
  return html('li', {}, box, ` ${name}`);
}

// A group of buttons of which one is pressed.
function choice(name, options, initial, onChange) {
  const buttons = options.map(
      ([value, text]) => html(
          'button', {
            type: 'button',
            'aria-pressed': String(value === initial),
            onclick: () => {
              for (const other of buttons) other.setAttribute('aria-pressed', 'false');
              buttons[options.findIndex(([v]) => v === value)].setAttribute('aria-pressed', 'true');
              onChange(value);
            }
          },
          text));
  return html('span', {class: 'choice', role: 'group', 'aria-label': name}, buttons);
}

// Writes a label only where none is yet.
class Labels {
  constructor() {
    this.boxes = [];
  }

  // Reserves a box; false if it overlaps another.
  free(x, y, width, height) {
    const overlaps = this.boxes.some(
        (b) => x < b.x + b.width && b.x < x + width && y < b.y + b.height && b.y < y + height);
    if (!overlaps) this.boxes.push({x, y, width, height});
    return !overlaps;
  }

  // Appends the text to `parent` if there is room. (x, y): the base line's begin or end.
  place(parent, x, y, text, attributes = {}) {
    const width = textWidth(text);
    const left = attributes['text-anchor'] === 'end' ? x - width :
        attributes['text-anchor'] === 'middle'       ? x - width / 2 :
                                                       x;
    if (!this.free(left - 2, y - fontSize, width + 4, fontSize + 4)) return false;
    parent.append(label(x, y, text, attributes));
    return true;
  }
}

// A horizontal time axis at the bottom of a picture, from 0 to `most`.
function axisBelow(parent, most, x, y, top, format) {
  const labels = new Labels();
  const width = x(most) - x(0);
  for (const value of ticks(most, Math.max(2, width / 110))) {
    parent.append(line(x(value), top, x(value), y, {class: 'grid'}));
    const text = format(value);
    const anchor = value === 0                   ? 'start' :
        x(value) + textWidth(text) / 2 > x(most) ? 'end' :
                                                   'middle';
    labels.place(parent, x(value), y + 15, text, {class: 'tick', 'text-anchor': anchor});
  }
}
