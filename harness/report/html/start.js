// Builds the page: the bar, then the pictures of the shown result.

const results = readResults();
const views = new Map();

const PAGES = {
  profile: {
    facts: stageFacts,
    details: stageDetails,
    verdict: profileVerdict,
    pictures: [
      topdownPicture, rooflinePicture, treemapPicture, timelinePicture, evolutionPicture,
      groupsPicture, memoryPicture, stageTable
    ]
  },
  sweep: {
    facts: caseFacts,
    details: caseDetails,
    verdict: sweepVerdict,
    pictures: [sweepPicture, caseTable]
  },
  comparison: {
    facts: rowFacts,
    details: rowDetails,
    verdict: comparisonVerdict,
    pictures: [ratioPicture, rowTable]
  },
  machines: {
    facts: rowFacts,
    details: rowDetails,
    verdict: machinesVerdict,
    pictures: [ratioPicture, rowTable]
  },
  sharing: {
    facts: slowdownFacts,
    details: slowdownDetails,
    verdict: sharingVerdict,
    pictures: [ratioPicture, slowdownTable]
  },
  scheduling: {
    facts: jobFacts,
    details: jobDetails,
    verdict: schedulingVerdict,
    pictures: [policyTable, schedulePicture, jobTable]
  },
  trace: {
    facts: primitiveFacts,
    details: primitiveDetails,
    verdict: traceVerdict,
    pictures: [liveSharePicture, liveStepsPicture, tracedRatioPicture, primitiveTable]
  },
};

const page = document.getElementById('page');

function viewOf(result) {
  if (!views.has(result)) {
    const made = PAGES[result.kind];
    const view = new View(result, made);
    const sections =
        [made.verdict(result, view), ...made.pictures.map((make) => make(result, view))];
    view.sections = sections.filter(Boolean);
    views.set(result, view);
  }
  return views.get(result);
}

let shown = null;

function fitAll() {
  for (const picture of shown.pictures) picture.fit();
}

// Draws the pictures one by one, so that the verdict is painted before them and the page answers
// between them. `data-ready` on the page: all are drawn.
function fitInTurn(view, at = 0) {
  if (view !== shown) return;
  if (at === view.pictures.length) {
    document.documentElement.dataset.ready = '';
    return;
  }
  view.pictures[at].fit();
  setTimeout(() => fitInTurn(view, at + 1));
}

function show(result, item) {
  const view = viewOf(result);
  if (view !== shown) {
    shown = view;
    page.replaceChildren(...view.sections);
    document.title = `${result.title} · topdnn`;
    for (const button of document.querySelectorAll('#results button')) {
      button.setAttribute('aria-pressed', button.dataset.result === String(result.index));
    }
    requestAnimationFrame(() => setTimeout(() => fitInTurn(view)));
  }
  view.choose(item);
}

function resultButtons() {
  if (results.length < 2) return null;
  return html(
      'nav', {id: 'results', class: 'choice', 'aria-label': 'results'},
      results.map(
          (result) => html(
              'button', {
                type: 'button',
                'data-result': result.index,
                onclick: () => show(result, viewOf(result).chosen)
              },
              `${result.index + 1}. ${result.title}`, html('small', {}, result.facts))));
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () => root.dataset.theme === 'dark' ||
      (!root.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
  const button = html(
      'button', {
        type: 'button',
        id: 'theme',
        onclick: () => {
          root.dataset.theme = isDark() ? 'light' : 'dark';
          button.textContent = isDark() ? 'Light' : 'Dark';
        }
      },
      isDark() ? 'Light' : 'Dark');
  return button;
}

function start() {
  document.body.prepend(
      svg('svg', {width: 0, height: 0, class: 'defs', 'aria-hidden': 'true'},
          svg('defs', {id: 'textures'})));
  fill(
      document.getElementById('bar'), {},
      [html('span', {class: 'brand'}, 'topdnn'), resultButtons(), themeButton()]);
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    if (!document.getElementById('tip').hidden)
      tip.hide();
    else
      shown.choose(null);
  });
  window.addEventListener('hashchange', () => {
    const place = readPlace();
    show(place.result, place.item);
  });
  const {result, item} = readPlace();
  show(result, item);
  let waiting = false;
  new ResizeObserver(() => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      tip.hide();
      fitAll();
    });
  }).observe(page);
}

start();
