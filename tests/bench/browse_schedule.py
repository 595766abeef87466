"""What the page of a cosched shows, for browse_page.py."""


def near(a, b, tolerance):
    return abs(a - b) <= tolerance


def check(page):
    """A cosched: the bars of each job against its widths and times, the table, choosing a job."""
    page.open()
    policies = page.data["policies"]
    jobs = [job for policy in policies for job in policy["jobs"]]
    end = max(part[1] for job in jobs for part in job["timeline"])
    most = max(part[2] for job in jobs for part in job["timeline"])
    bars = page.run("""return [...document.querySelectorAll('#schedule .row')].map((row) => [
      Number(row.dataset.item), [...row.querySelectorAll('[data-width]')].map((r) => [
        'x', 'width', 'height', 'data-width'].map((name) => Number(r.getAttribute(name)))),
      [...row.querySelectorAll('.waiting')].map((l) => Number(l.getAttribute('x1')))])""")
    page.expect([bar[0] for bar in bars] == list(range(len(jobs))), "other jobs than in the data")
    first = bars[0][1][0]
    last = max((part for _, parts, _ in bars for part in parts), key=lambda p: p[0] + p[1])
    zero = first[0] if jobs[0]["timeline"][0][0] == 0 else None
    page.expect(zero is not None, "the first job does not start at 0")
    unit = (last[0] + last[1] - zero) / end
    for (item, parts, waiting), job in zip(bars, jobs):
        page.expect(len(parts) == len(job["timeline"]), f"job {item} has {len(parts)} bars")
        for (x, width, height, threads), (start, stop, wide) in zip(parts, job["timeline"]):
            page.expect(near(x, zero + unit * start, 0.5), f"job {item} starts at {x}")
            page.expect(near(width, max(0.6, unit * (stop - start)), 0.5),
                        f"job {item} is {width} long")
            page.expect(threads == wide, f"job {item} has {threads} threads")
            page.expect(near(height, max(2, 14 * wide / most), 0.1), f"job {item}: height {height}")
        waits = job["timeline"] and job["timeline"][0][0] > job["arrival"]
        page.expect(len(waiting) == (1 if waits else 0), f"job {item}: waiting {waiting}")
        for x in waiting:
            page.expect(near(x, zero + unit * job["arrival"], 0.5), f"job {item} waits from {x}")
    table = page.run("""return [...document.querySelectorAll('#policies tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent))""")
    page.expect([row[0] for row in table] == [policy["name"] for policy in policies],
                f"policies: {table}")
    head = page.run("""return [...document.querySelectorAll('#policies thead th')].map(
      (cell) => cell.textContent)""")
    shown = page.run("return arguments[0].map((p) => [timeText(p.makespan), "
                     "timeText(p.mean_turnaround), digits(p.mean_slowdown), digits(p.speed), "
                     "timeText(p.common_speed_makespan)])", policies)
    columns = [head.index(name)
               for name in ("makespan", "turnaround", "slowdown", "speed", "~equal speed")]
    page.expect([[row[k] for k in columns] for row in table] == shown, f"figures: {table}")
    best = min(policies, key=lambda policy: policy["makespan"])
    opening = page.driver.find_element("css selector", ".opening").text
    for text in (best["name"], "simulated", "FAILED"):
        page.expect(text in opening, f"the verdict lacks {text}: {opening!r}")
    page.run("document.querySelector('#schedule .row[data-item=\"1\"] .hit').dispatchEvent("
             "new MouseEvent('click', {bubbles: true}))")
    page.expect(page.run("return location.hash") == "#job=2", "the URL's job")
    page.expect(page.run("return document.querySelectorAll('.chosen').length") == 2,
                "the job is not marked in the picture and in the table")
    panel = page.driver.find_element("id", "chosen").text
    page.expect("FAILED" in panel or "was ended by signal 9" in panel, f"the panel: {panel!r}")
