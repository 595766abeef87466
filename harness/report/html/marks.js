// The marks of a picture: what the pointer and the keyboard reach. A picture is one stop of the tab
// key; the arrow keys move between its marks, Enter chooses the item of a mark.

const tip = {
  show(facts, box) {
    const element = document.getElementById('tip');
    element.replaceChildren(
        html('strong', {}, facts.title),
        html(
            'dl', {},
            facts.lines.map(([name, value]) => [html('dt', {}, name), html('dd', {}, value)])));
    element.hidden = false;
    const {offsetWidth: width, offsetHeight: height} = element;
    const right = document.documentElement.clientWidth - width - 8;
    const below = box.bottom + 12;
    const y = below + height < window.innerHeight ? below : box.top - height - 12;
    element.style.left = `${Math.max(8, Math.min(right, box.left + 12))}px`;
    element.style.top = `${Math.max(8, y)}px`;
  },
  hide() {
    document.getElementById('tip').hidden = true;
  },
};

class Marks {
  // `view`: whose items the marks stand for. `host`: the element that contains the marks.
  constructor(view, host) {
    this.view = view;
    this.host = host;
    this.list = [];
    this.byItem = new Map();
    this.current = 0;
    const at = (event) => {
      const element = event.target.closest?.('[data-mark]');
      return element && host.contains(element) ? this.list[Number(element.dataset.mark)] : null;
    };
    host.addEventListener('pointermove', (event) => {
      const mark = at(event);
      if (!mark) return tip.hide();
      const {clientX: x, clientY: y} = event;
      if (this.hovered !== mark || document.getElementById('tip').hidden) this.hovered = mark;
      tip.show(mark.facts(), {left: x, top: y, bottom: y});
    });
    host.addEventListener('pointerleave', () => tip.hide());
    host.addEventListener('click', (event) => {
      const mark = at(event);
      if (mark && mark.item !== null) view.choose(mark.item, true);
    });
    host.addEventListener('focusin', (event) => {
      const mark = at(event);
      if (mark && event.target.matches(':focus-visible')) {
        tip.show(mark.facts(), event.target.getBoundingClientRect());
      }
    });
    host.addEventListener('focusout', () => tip.hide());
    host.addEventListener('keydown', (event) => this.key(event, at(event)));
  }

  key(event, mark) {
    if (!mark || event.target.closest('button, input') || event.ctrlKey || event.metaKey ||
        event.altKey)
      return;
    const steps = {
      ArrowRight: 1,
      ArrowDown: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -Infinity,
      End: Infinity
    };
    if (event.key in steps) {
      const last = this.list.length - 1;
      this.focus(Math.max(0, Math.min(last, this.current + steps[event.key])));
    } else if (event.key === 'Enter' || event.key === ' ') {
      if (mark.item !== null) this.view.choose(mark.item, true);
    } else {
      return;
    }
    event.preventDefault();
  }

  focus(position) {
    this.list[this.current]?.element.setAttribute('tabindex', -1);
    this.current = position;
    const element = this.list[position].element;
    element.setAttribute('tabindex', 0);
    element.focus();
  }

  clear() {
    this.list = [];
    this.byItem.clear();
    this.current = 0;
  }

  // Makes `element` a mark of the item; `facts` for another tooltip than the item's.
  add(item, element, facts) {
    const mark = {item, element, facts: facts ?? (() => this.view.facts(item))};
    element.dataset.mark = this.list.length;
    element.setAttribute('tabindex', this.list.length === 0 ? 0 : -1);
    this.list.push(mark);
    if (item !== null) {
      if (!this.byItem.has(item)) this.byItem.set(item, []);
      this.byItem.get(item).push(element);
      element.dataset.item = item;
      element.setAttribute('aria-selected', item === this.view.chosen);
      element.classList.toggle('chosen', item === this.view.chosen);
    }
    if (element.namespaceURI === SVG) {
      element.setAttribute('role', 'option');
      const {title, lines} = mark.facts();
      element.setAttribute(
          'aria-label', [title, ...lines.slice(0, 3).map((l) => l.join(' '))].join(', '));
    }
    return element;
  }

  // For another set of marks: which is reached by the tab key.
  start(position) {
    if (!this.list[position]) return;
    this.list[this.current]?.element.setAttribute('tabindex', -1);
    this.current = position;
    this.list[position].element.setAttribute('tabindex', 0);
  }

  setChosen(item, is) {
    for (const element of this.byItem.get(item) ?? []) {
      element.classList.toggle('chosen', is);
      element.setAttribute('aria-selected', is);
      if (is && element !== document.activeElement) this.start(Number(element.dataset.mark));
    }
  }
}
