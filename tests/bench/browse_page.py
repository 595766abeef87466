#!/usr/bin/python3
"""Opens pages of `topdnn report` in Debian's chromium and checks what a reader sees and does.

    browse_page.py CHECK PAGE.html

Prints one line per fault. Exit status: 0 no fault, 1 faults, 2 bad usage, 77 no browser. Debian's
interpreter is named because the other package, python3-selenium, belongs to it.
"""
import json
import math
import os
import re
import sys

sys.dont_write_bytecode = True
import browse_schedule  # noqa: E402
from browse_schedule import near  # noqa: E402

BROWSER = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
WIDTHS = (320, 768, 1280, 2560)

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("python3-selenium is not installed: run setup/install --tests")
    sys.exit(77)

WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation',
                          (event) => violations.push(event.violatedDirective));
"""

OVERLAPS = """
const faults = [];
for (const picture of document.querySelectorAll('.plot svg')) {
  const frame = picture.getBoundingClientRect();
  const name = picture.getAttribute('aria-label');
  const boxes = [...picture.querySelectorAll('text')].filter((t) => t.textContent)
    .map((t) => [t.textContent, t.getBoundingClientRect()])
    .sort((a, b) => a[1].top - b[1].top);
  boxes.forEach(([text, a], i) => {
    if (a.left < frame.left - 2 || a.right > frame.right + 2) faults.push(`${name}: cut: ${text}`);
    for (const [other, b] of boxes.slice(i + 1)) {
      if (b.top > a.bottom) break;
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) {
        faults.push(`${name}: ${text} overlaps ${other}`);
      }
    }
  });
}
return faults.slice(0, 8);
"""


class Page:
    """A page in the browser, and the faults that were found on it."""

    def __init__(self, path):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--disable-extensions"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.chrome.service.Service(DRIVER)
        self.driver = webdriver.Chrome(service=service, options=options)
        self.url = "file://" + os.path.abspath(path)
        self.faults = []
        self.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        with open(path, encoding="utf-8") as file:
            text = file.read()
        start = text.index('id="data">') + len('id="data">')
        results = json.loads(text[start:text.index("</script>", start)])["results"]
        self.data = results[0]
        self.results = len(results)

    def cdp(self, command, arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, place="", width=1280, theme="light"):
        self.cdp("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.cdp("Emulation.setEmulatedMedia",
                 {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.driver.get("about:blank")
        self.driver.get(self.url + place)
        WebDriverWait(self.driver, 20).until(
            lambda d: self.run("return 'ready' in document.documentElement.dataset"))
        # If drawing has changed the page's width, it is drawn again in the second frame from here.
        self.driver.execute_async_script(
            "const frame = requestAnimationFrame, done = arguments[0];"
            "frame(() => frame(() => frame(() => done())))")

    def expect(self, condition, fault):
        if not condition:
            self.faults.append(fault)

    def close(self, *expected):
        """Ends the browser; the console, the network and the policy must have been silent."""
        violations = self.run("return window.violations")
        self.expect(violations == [], f"the policy was violated: {violations}")
        for entry in self.driver.get_log("browser"):
            if not any(text in entry["message"] for text in expected):
                self.faults.append("console: " + entry["message"])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.expect(url.split("#")[0] in (self.url, "about:blank"), "requested " + url)
        self.driver.quit()

    # The columns of the embedded stages.

    def texts(self, key):
        stages = self.data["stages"]
        return [None if i is None else stages["texts"][i] for i in stages["text"][key]]

    def medians(self):
        statuses = self.texts("status")
        return [None if time is None or statuses[i] == "FAILED" else time[0]
                for i, time in enumerate(self.data["stages"]["time"]["seconds"])]


def check_drawn(page):
    """Widths, areas and places against the embedded data."""
    page.open()
    times = page.medians()
    timed = [i for i, seconds in enumerate(times) if seconds]
    total = sum(times[i] for i in timed)

    boxes = page.run("""return [...document.querySelectorAll('#timeline .block')].map((b) => {
      const r = b.querySelector('rect');
      return [Number(b.dataset.item), Number(r.getAttribute('x')), Number(r.getAttribute('width'))];
    })""")
    page.expect([box[0] for box in boxes] == timed, "timeline: other stages than those with a time")
    left = boxes[0][1]
    full = boxes[-1][1] + boxes[-1][2] - left
    at = 0
    for item, x, width in boxes:
        page.expect(near(x - left, full * at / total, 1), f"timeline: stage {item} begins at {x}")
        page.expect(near(width, max(0.6, full * times[item] / total), 1),
                    f"timeline: stage {item} is {width} wide")
        at += times[item]

    boxes = page.run("""return [...document.querySelectorAll('#treemap .block')].map((b) => {
      const r = b.querySelector('rect');
      return [Number(b.dataset.item), ...['x', 'y', 'width', 'height'].map(
        (name) => Number(r.getAttribute(name)))];
    })""")
    area = sum(w * h for _, _, _, w, h in boxes)
    frame = page.run("return document.querySelector('#treemap svg').viewBox.baseVal")
    page.expect(near(area / (frame["width"] * frame["height"]), 1, 0.01), "map: not filled")
    page.expect(all(x + w <= frame["width"] + 0.1 and y + h <= frame["height"] + 0.1
                    for _, x, y, w, h in boxes), "map: a stage is outside")
    for item, x, y, w, h in boxes:
        page.expect(near(w * h / area, times[item] / total, 0.003), f"map: area of stage {item}")
        for other, x2, y2, w2, h2 in boxes:
            overlap = min(x + w, x2 + w2) - max(x, x2), min(y + h, y2 + h2) - max(y, y2)
            page.expect(item >= other or min(overlap) < 0.05, f"map: {item} overlaps {other}")

    nodes = page.data["stages"]["nodes"]["topdown"]
    bars = page.run("""return [...document.querySelectorAll('#topdown .row')].map((row) => [
      Number(row.dataset.item), [...row.querySelectorAll('[data-node]')].map((r) => [
        r.dataset.node, Number(r.getAttribute('width'))])])""")
    page.expect(len(bars) > 0, "Top-Down: no bars")
    unit = None
    for item, parts in bars:
        for node, width in parts:
            share = nodes["rows"][item][nodes["names"].index(node)]
            unit = unit or width / share
            page.expect(near(width / unit, share, 0.005), f"Top-Down: {node} of stage {item}")
    absent = dict(bars).get(1, [["Bad_Speculation", 0]])
    page.expect("Bad_Speculation" not in dict(absent), "Top-Down: draws a node that is null")

    check_dots(page)
    check_groups(page)


def check_dots(page):
    """Both axes of the roofline are logarithmic: equal ratios are equal distances."""
    dots = page.run("""return [...document.querySelectorAll('#roofline .dot[data-item]')].map(
      (d) => [Number(d.dataset.item), ...d.getAttribute('transform').match(/[-\\d.]+/g).map(Number)])""")
    roofs = page.data["stages"]["roofline"]
    page.expect(len(dots) >= 6, "roofline: too few dots")
    _, x0, y0 = dots[0]
    first = roofs[dots[0][0]]
    far = max(dots, key=lambda d: abs(d[1] - x0))
    scale_x = (far[1] - x0) / math.log(roofs[far[0]][2] / first[2])
    high = max(dots, key=lambda d: abs(d[2] - y0))
    scale_y = (high[2] - y0) / math.log(roofs[high[0]][0] / first[0])
    page.expect(scale_x > 0 and scale_y < 0, "roofline: an axis points the wrong way")
    for item, x, y in dots:
        page.expect(near(x, x0 + scale_x * math.log(roofs[item][2] / first[2]), 1),
                    f"roofline: x of stage {item}")
        page.expect(near(y, y0 + scale_y * math.log(roofs[item][0] / first[0]), 1),
                    f"roofline: y of stage {item}")
    page.expect(8 not in [d[0] for d in dots], "roofline: draws a FAILED stage")


def check_groups(page):
    bars = page.run("""return [...document.querySelectorAll('#groups .bar')].map(
      (b) => Number(b.getAttribute('width')))""")
    medians = [g["seconds"]["median"] for g in page.data["groups"]]
    for bar, median in zip(bars, medians):
        page.expect(near(bar / bars[1], median / medians[1], 0.01), "by pass: width of a bar")
    live = page.data["memory"]["live_bytes"]
    bars = page.run("""return [...document.querySelectorAll('#memory .bar')].map(
      (b) => Number(b.getAttribute('height')))""")
    for bar, value in zip(bars, live):
        page.expect(near(bar / max(bars), value / max(live), 0.01), "memory: height of a bar")


def check_use(page):
    """The pointer, the keyboard, the URL, the table, copying, and printing."""
    page.open()
    driver = page.driver
    opening = driver.find_element(By.CSS_SELECTOR, ".opening").text
    for text in ("20.0 ms", "OK", "sample training", "conv1 backward weights 6.00 ms, 30.0 %",
                 "compute 19.0 ms, input wait 1.50 ms", "FAILED: differs from the reference"):
        page.expect(text in opening, f"the verdict lacks {text}: {opening!r}")
    stage = driver.find_element(By.CSS_SELECTOR, "#timeline [data-item='9']")
    page.run("arguments[0].scrollIntoView({block: 'center'})", stage)
    ActionChains(driver).move_to_element(stage).perform()
    tip = driver.find_element(By.ID, "tip")
    page.expect(tip.is_displayed(), "no tooltip")
    for text in ("conv1 backward weights", "6.00 ms", "5.40 ms to 7.50 ms", "40", "10,000,000"):
        page.expect(text in tip.text, f"the tooltip lacks {text}: {tip.text!r}")
    stage.click()
    expect_chosen(page, 9)
    panel = driver.find_element(By.ID, "chosen")
    page.expect("conv1 backward weights" in panel.text, "the panel does not name the stage")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE, Keys.ESCAPE)
    page.expect(page.run("return location.hash") == "", "Escape does not choose none")
    page.expect(page.run("return document.querySelectorAll('.chosen').length") == 0,
                "Escape leaves a stage marked")

    page.open("#stage=5")
    expect_chosen(page, 4)
    page.run("location.hash = 'stage=3'")
    WebDriverWait(driver, 5).until(lambda d: page.run(
        "return document.querySelector('#timeline [data-item=\"2\"]').matches('.chosen')"))
    expect_chosen(page, 2)
    check_loops(page)
    check_keys(page)
    check_table(page)
    check_copy(page)
    check_print(page)


def expect_chosen(page, item):
    page.expect(page.run("return location.hash") == f"#stage={item + 1}", "the URL's stage")
    for picture in ("topdown", "roofline", "treemap", "timeline", "memory", "stages"):
        items = page.run(f"""return [...document.querySelectorAll('#{picture} .chosen')].map(
          (e) => [Number(e.dataset.item), e.getAttribute('aria-selected')])""")
        page.expect(items == [[item, "true"]], f"{picture}: chosen {items} instead of {item}")


def check_loops(page):
    """The panel of a stage shows its hot loops, that of another stage none."""
    page.open("#stage=1")
    panel = page.driver.find_element(By.ID, "chosen")
    summary = panel.find_element(By.TAG_NAME, "summary")
    page.expect(summary.text == "All values, hot loops", f"the panel's summary: {summary.text}")
    summary.click()
    for text in ("JIT jit_conv+0x40", "1,234,567", "FMA 97.0 %", "14.5", "vfmadd231ps zmm0"):
        page.expect(text in panel.text, f"the hot loop lacks {text}: {panel.text!r}")
    page.expect("not listed" not in panel.text, "a loop without a listing is shown")
    page.expect(page.run("return document.documentElement.scrollWidth <= innerWidth"),
                "a listing widens the page")
    page.open("#stage=2")
    page.expect("hot loop" not in page.driver.find_element(By.ID, "chosen").text.lower(),
                "a stage without loops shows some")


def check_keys(page):
    """Tab reaches each control and picture once; the arrows move inside a picture."""
    page.open()
    seen = []
    for _ in range(60):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        where = page.run("""const e = document.activeElement;
          const style = getComputedStyle(e);
          return [e.closest('section, header, aside')?.id ?? '', e.tagName,
                  e.dataset.mark !== undefined, style.outlineStyle !== 'none' ||
                  e.dataset.mark !== undefined, document.getElementById('tip').hidden]""")
        seen.append(where)
        page.expect(where[3], f"no visible focus on {where[1]} in {where[0]}")
        if where[0] == "timeline" and where[2]:
            break
    marks = [where[0] for where in seen if where[2]]
    page.expect(marks == ["topdown", "roofline", "treemap", "timeline"],
                f"the tab key reaches marks of {marks}")
    page.expect(seen[-1][4] is False, "focus shows no tooltip")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER).perform()
    expect_chosen(page, 2)


def check_table(page):
    page.open()
    names = ("return [...document.querySelectorAll('#stages tbody tr')]"
             ".map((r) => Number(r.dataset.item))")
    times = page.medians()
    page.run("""[...document.querySelectorAll('#stages thead button')]
      .find((b) => b.textContent === 'time').click()""")
    order = page.run(names)
    expected = sorted(range(len(times)), key=lambda i: (times[i] is None, -(times[i] or 0)))
    page.expect(order == expected, f"sorted by time: {order}")
    sorted_by = page.run("return document.querySelectorAll('th[aria-sort=descending]').length")
    page.expect(sorted_by == 1, "aria-sort")
    page.driver.find_element(By.CSS_SELECTOR, "#stages input").send_keys("conv1 backward")
    page.expect(sorted(page.run(names)) == [9, 10], f"filtered: {page.run(names)}")
    failed = page.run("""return document.evaluate("//tr[@data-item=8]", document, null, 9, null)
      .singleNodeValue?.textContent ?? null""")
    page.expect(failed is None, "the filter leaves a FAILED row")
    box = page.driver.find_element(By.CSS_SELECTOR, "#stages input")
    box.clear()
    box.send_keys("FAILED")
    row = page.driver.find_element(By.CSS_SELECTOR, "#stages tbody tr").text
    page.expect("FAILED" in row and row.count("n/a") >= 4 and "ms" not in row,
                f"a FAILED row has a time: {row!r}")


def check_copy(page):
    page.open()
    page.cdp("Browser.grantPermissions", {"permissions": ["clipboardReadWrite",
                                                          "clipboardSanitizedWrite"]})
    page.run("document.querySelector('.command .copy').click()")
    WebDriverWait(page.driver, 5).until(
        lambda d: "Copied" in d.find_element(By.CSS_SELECTOR, ".command").text)
    page.open("#stage=2")
    page.run("document.querySelector('#chosen .copy').focus()")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    WebDriverWait(page.driver, 5).until(
        lambda d: "Copied" in d.find_element(By.CSS_SELECTOR, "#chosen").text)
    page.expect(page.run("return location.hash") == "#stage=2", "copying chooses another stage")
    page.open()
    page.run("""navigator.clipboard.writeText = () => Promise.reject(new Error('denied'));
      document.execCommand = () => false;
      document.querySelector('#stages .copy').click()""")
    WebDriverWait(page.driver, 5).until(
        lambda d: page.run("return document.activeElement.className") == "command-field")
    page.expect(page.run("return document.activeElement.value") == page.data["command"],
                "the command to copy by hand")


def check_print(page):
    page.open(theme="dark")
    page.cdp("Emulation.setEmulatedMedia", {"media": "print"})
    page.expect(page.run("return getComputedStyle(document.body).backgroundColor")
                == "rgb(255, 255, 255)", "print: the paper is not white")
    page.expect(page.run("return [...document.querySelectorAll('.controls, #theme')].every("
                         "(e) => getComputedStyle(e).display === 'none')"), "print: has controls")
    page.cdp("Emulation.setEmulatedMedia", {"media": ""})


def check_widths(page):
    """No width scrolls sideways, cuts a label or writes one over another."""
    for width in WIDTHS:
        page.open(width=width)
        page.run("document.querySelector('#timeline [data-item]')?.dispatchEvent("
                 "new MouseEvent('click', {bubbles: true}))")
        over = page.run("return document.documentElement.scrollWidth - window.innerWidth")
        page.expect(over <= 0, f"{width}: {over} pixels too wide")
        for fault in page.run(OVERLAPS):
            page.faults.append(f"{width}: {fault}")
    buttons = "document.querySelectorAll('.controls .choice button')"
    for choice in range(page.run(f"return {buttons}.length")):
        page.run(f"{buttons}[{choice}].click()")
        for fault in page.run(OVERLAPS):
            page.faults.append(f"choice {choice}: {fault}")


def luminance(colour):
    parts = [int(x) / 255 for x in re.findall(r"\d+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)  # (WCAG 2.1, contrast ratio)


def check_themes(page):
    colours = """const of = (css, name) => {
        const e = document.querySelector(css);
        return e ? getComputedStyle(e)[name] : null;
      };
      return [of('body', 'backgroundColor'), of('body', 'color'), of('.caption', 'color'),
              of('svg .tick', 'fill'), of('.badge', 'color')]"""
    papers = []
    for theme in ("light", "dark"):
        page.open(theme=theme)
        paper, *inks = page.run(colours)
        papers.append(paper)
        for ink in inks:
            page.expect(contrast(paper, ink) >= 4.5, f"{theme}: {ink} on {paper} is hard to read")
    page.expect(luminance(papers[0]) > 0.8 and luminance(papers[1]) < 0.05, f"papers: {papers}")
    page.driver.find_element(By.ID, "theme").click()
    page.expect(page.run(colours)[0] == papers[0], "the button does not change the theme")


def check_hostile(page):
    """Names are texts: none becomes an element, a script or an attribute."""
    page.open("#stage=2")
    page.expect(page.run("return typeof window.broken") == "undefined", "a name ran as a script")
    page.expect(page.run("return document.scripts.length") == 2, "a name became a script")
    page.expect(page.run("return document.images.length") == 0, "a name became an image")
    page.expect(page.driver.title != "broken", "a name set the title")
    names = page.run("return [...document.querySelectorAll('#stages tbody th')].map("
                     "(e) => e.textContent)")
    page.expect(names == [str(name) for name in page.texts("name")], f"names: {names}")
    check_widths(page)


def check_normalised(page, one, scale, rows):
    """The ratios in units of the time at each machine's own ceiling, where they are known."""
    hollow = page.run("""return [...document.querySelectorAll('#ratios .ratio-normalised')].map(
      (mark) => [Number(mark.closest('.row').dataset.item), mark.transform.baseVal[0].matrix.e])""")
    known = {i: row["ratio_normalised"] for i, row in enumerate(rows) if "ratio_normalised" in row}
    page.expect([i for i, _ in hollow] == list(known), f"normalised: {hollow}")
    for i, x in hollow:
        page.expect(near(x, one + scale * math.log(known[i]), 0.5), f"normalised {known[i]} at {x}")


def check_machines(page):
    """Machines side by side: for each stage a row of each, with both ratios."""
    page.open()
    rows = [dict(row, machine=machine["name"]) for step in (True, False)
            for k in range(1 if step else 3) for machine in page.data["machines"]
            for row in [machine["step"] if step else machine["rows"][k]]]
    labels = page.run("""return [...document.querySelectorAll('#ratios .row')].map(
      (row) => row.querySelector('text').textContent)""")
    expected = [f"{row['machine'][:2]}: {row['name']}" +
                (f" {row['pass']}" if row["pass"] != row["name"] else "") for row in rows]
    page.expect(labels == expected, f"rows: {labels}, not {expected}")
    one, marks = page.run("""return [document.querySelector('#ratios .one').x1.baseVal.value,
      [...document.querySelectorAll('#ratios .ratio')].map((r) => r.transform.baseVal[0].matrix.e)]""")
    scale = (marks[0] - one) / math.log(2)
    page.expect(len(marks) == len(rows), f"{len(marks)} ratios")
    for x, row in zip(marks, rows):
        page.expect(near(x, one + scale * math.log(row["ratio"]), 0.5), f"{row['ratio']} at {x}")
    check_normalised(page, one, scale, rows)
    table = page.run("""const texts = (row) => [...row.children].map((cell) => cell.innerText);
      const rows = [...document.querySelectorAll('#row-table tr')].map(texts);
      return rows.map((row) => Object.fromEntries(rows[0].map((name, k) => [name, row[k]])));""")[1:]
    cells = [[row[name] for name in ("machine", "a peak", "b peak", "normalised")]
             for row in table[2:4] + table[6:7]]
    page.expect(cells == [["n2-4567cdef", "60.0 %", "60.0 %", "1.000"],
                          ["n3-0123abcd", "60.0 %", "80.0 %", "0.750"],
                          ["n2-4567cdef", "n/a", "n/a", "n/a"]], f"table: {cells}")
    verdict = page.driver.find_element(By.CSS_SELECTOR, ".opening").text
    page.expect("1 of 2 cases are finished" in verdict and "normalised 0.750" in verdict, verdict)
    for width in (320, 1280):
        page.open(width=width)
        for fault in page.run(OVERLAPS):
            page.faults.append(f"{width}: {fault}")


def check_figures(page):
    """A sweep, a comparison, a trace or a corun: bars and ratios against the data, and choosing a row."""
    page.open()
    if page.data["kind"] == "sweep":
        bars = page.run("""return [...document.querySelectorAll('#cases .row')].map((row) =>
          [...row.querySelectorAll('[data-part]')].map((r) => Number(r.getAttribute('width'))))""")
        unit = sum(bars[0]) / page.data["cases"][0]["step"]["seconds"]["median"]
        for bar, case in zip(bars, page.data["cases"]):
            if case["status"] != "OK":
                page.expect(bar == [], f"a bar for {case['status']}")
                continue
            seconds = case["step"]["seconds"]["median"]
            means = case.get("means", {"compute": case["compute"],
                                       "input_wait": case["input_wait"],
                                       "other": seconds - case["compute"] - case["input_wait"]})
            parts = [means["compute"], means["input_wait"], means["other"]]
            page.expect(all(near(w, unit * s, 1) for w, s in zip(bar, parts)),
                        f"{case['id']}: {bar}")
        words = page.driver.find_element(By.ID, "cases").text
        page.expect("OUT OF MEMORY" in words and "TIMEOUT" in words, "cases without a time")
        place = "#case=2"
    else:
        one, marks = page.run("""return [document.querySelector('#ratios .one').x1.baseVal.value,
          [...document.querySelectorAll('#ratios .ratio')].map(
            (r) => [r.transform.baseVal[0].matrix.e, r.className.baseVal])]""")
        if page.data["kind"] == "comparison":
            ratios = [row["ratio"] for row in page.data["rows"]]
        elif page.data["kind"] == "trace":
            ratios = [row["measured_seconds"] / row["framework_seconds"]
                      for row in page.data["rows"] if row["measured_seconds"] is not None]
            page.expect(len(marks) == len(ratios), "a mark for a row that was not measured")
            words = page.driver.find_element(By.ID, "row-table").text
            page.expect("SKIPPED" in words and "n/a" in words, "the row without a time")
            page.expect("Backend Bound 60.0 %" in words, "the largest loss that was counted")
            page.expect("Core Bound 35.0 % to 70.0 % (estimate)" in words, "the largest bound")
        else:
            ratios = [row["slowdown"] for member in page.data["group"]
                      for row in [member, *member["stages"]]]
        scale = (marks[2][0] - one) / math.log(ratios[2])
        for (x, _), ratio in zip(marks, ratios):
            page.expect(near(x, one + scale * math.log(ratio), 0.5), f"ratio {ratio} at {x}")
        check_normalised(page, one, scale, page.data.get("rows", []))
        sides = [name.split()[1] for _, name in marks]
        expected = ["same", "faster", "slower", "same", "same"]
        if page.data["kind"] == "trace":
            expected = ["same"] * len(ratios)
        page.expect(sides == expected, f"sides: {sides}")
        place = "#row=2"
    page.run("document.querySelector('.row[data-item=\"1\"] .hit').dispatchEvent("
             "new MouseEvent('click', {bubbles: true}))")
    page.expect(page.run("return location.hash") == place, "the URL's row")
    page.expect(page.run("return document.querySelectorAll('.chosen').length") == 2,
                "the row is not marked in the picture and in the table")
    for width in (320, 1280):
        page.open(width=width)
        for fault in page.run(OVERLAPS):
            page.faults.append(f"{width}: {fault}")


def check_live(page):
    """A live run: the shares as bars, the steps as lines without the warm-up, modules and counts."""
    page.open()
    page.expect(page.run("return document.querySelector('#ratios') === null"),
                "ratios without a measurement here")
    bars = page.run("""return [...document.querySelectorAll('#shares .bar')].map(
      (bar) => Number(bar.getAttribute('width')))""")
    shares = [row["live_share"] for row in page.data["rows"]]
    page.expect(len(bars) == len(shares) and
                all(near(bar, bars[0] * share / shares[0], 0.1) for bar, share in zip(bars, shares)),
                f"bars {bars}")
    lines = page.run("""return [...document.querySelectorAll('#steps .series-line')].map(
      (line) => line.getAttribute('d').slice(1).split('L').map((p) => p.split(' ').map(Number)))""")
    seconds = page.data["live"]["steps"]["seconds"][1:]
    for line in lines:
        # The shortest step is at the bottom, the longest one at the top.
        (low, high), (bottom, top) = (0.2, 0.6), (line[0][1], line[1][1])
        page.expect(len(line) == 5 and bottom > top, f"line {line}")
        for (_, y), value in zip(line, seconds):
            page.expect(near(y, bottom + (top - bottom) * (value - low) / (high - low), 0.1),
                        f"{value} at {y}")
    text = page.driver.find_element(By.TAG_NAME, "main").text
    for words in ("Live run", "layer1.conv", "6 of 5 primitives", "25.0 %", "Backend Bound 60.0 %"):
        page.expect(words in text, f"no {words}: {text}")
    cells = page.run("""return [...document.querySelectorAll('#row-table tbody tr')].slice(0, 1).map(
      (row) => [...row.children].map((cell) => cell.innerText))[0]""")
    page.expect("1.50" in cells and "3.00" in cells and "10.0 %" in cells, f"row {cells}")
    page.run("document.querySelector('#shares .row[data-item=\"1\"] .hit').dispatchEvent("
             "new MouseEvent('click', {bubbles: true}))")
    details = page.run("return document.querySelector('.details').textContent")
    page.expect("fewer than 5 runs" in details and "layer2.conv" in details, f"details: {details}")
    for width in (320, 1280):
        page.open(width=width)
        for fault in page.run(OVERLAPS):
            page.faults.append(f"{width}: {fault}")


def check_schedule(page):
    """A cosched; see browse_schedule.py."""
    browse_schedule.check(page)
    check_widths(page)


def check_minimal(page):
    """Results without optional keys, on one page: drawn without an error, absent values are n/a."""
    for number in range(1, page.results + 1):
        page.open(f"#result={number}")
        pressed = page.run("return document.querySelector('#results [aria-pressed=true]').innerText")
        page.expect(pressed.startswith(f"{number}."), f"shows {pressed} instead of {number}")
        page.expect(page.run("return document.querySelectorAll('.picture').length") >= 3,
                    f"{number}: no pictures")
        text = page.driver.find_element(By.TAG_NAME, "main").text
        page.expect("n/a" in text, f"{number}: no n/a")
        for fault in re.findall(r"NaN|undefined|Infinity|null|\[object", text):
            page.faults.append(f"{number}: the page says {fault}: {text!r}")
    page.driver.find_element(By.CSS_SELECTOR, "#results button").click()
    page.expect(page.run("return location.hash") == "#result=1", "a button shows no other result")


CHECKS = {name[len("check_"):]: function for name, function in list(globals().items())
          if name.startswith("check_")}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in CHECKS:
        print(__doc__)
        return 2
    for program in (BROWSER, DRIVER):
        if not os.access(program, os.X_OK):
            print(f"{program} is not installed: run setup/install --tests")
            return 77
    page = Page(sys.argv[2])
    try:
        CHECKS[sys.argv[1]](page)
    finally:
        page.close()
    for fault in page.faults[:20]:
        print(fault)
    return 1 if page.faults else 0


if __name__ == "__main__":
    sys.exit(main())
