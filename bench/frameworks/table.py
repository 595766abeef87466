"""The arithmetic of `compare`: which modes count, and the ratio to the best peer."""

from statistics import median

OURS = "topdnn"


def kept(trial, within, most):
    """The modes of a trial {MODE: ms} that are timed in every round: those that take at most
    `within` times as long as the fastest, and at most so many."""
    fastest = sorted(trial, key=trial.get)[:most]
    return [mode for mode in fastest if trial[mode] <= within * trial[fastest[0]]]


def fastest_mode(modes):
    """Of {MODE: [figure of each round]}, the mode with the lowest median."""
    return min(modes, key=lambda mode: median(modes[mode]))


def row_of(case, unit, times, figures):
    """Compares topdnn with the best peer. `figures` and `times` are {SIDE: {MODE: [one of each
    round]}}; the times choose each side's mode and the best peer, the figures are what is compared.
    The ratio is computed in every round, of what ran in that round."""
    modes = {side: fastest_mode(times[side]) for side in times}
    peers = [side for side in times if side != OURS]
    row = {"case": case, "unit": unit, "rounds": figures}
    row["sides"] = {
        side: {"mode": mode, "median": median(figures[side][mode])} for side, mode in modes.items()
    }
    if OURS not in times or not peers:
        return row
    best = min(peers, key=lambda side: median(times[side][modes[side]]))
    pairs = zip(figures[OURS][modes[OURS]], figures[best][modes[best]])
    ratios = [ours / peer for ours, peer in pairs]
    row["peer"] = best
    row["ratio"] = {"median": median(ratios), "min": min(ratios), "max": max(ratios)}
    return row


def reasons_of(failed):
    """Why there is no ratio, of {SIDE: why it failed}."""
    reasons = [f"{side}: {reason}" for side, reason in failed.items()]
    return "; ".join(reasons) or "no peer has this pass and type"


def line_of(row):
    """The row as one line of the table."""
    start = f"{row['case']:33} "
    if "ratio" not in row:
        return f"{start}n/a: {reasons_of(row['failed'])}"
    ours, peer, ratio = row["sides"][OURS], row["sides"][row["peer"]], row["ratio"]
    times = f"{ours['median']:9.2f} {peer['median']:9.2f} {row['unit']:3} {ratio['median']:6.3f} "
    spread = f"{ratio['min']:6.3f} to {ratio['max']:<6.3f} "
    return f"{start}{times}{spread}{ours['mode']:6} | {row['peer']}, {peer['mode']}"


HEADING = (
    f"{'case':33} {'topdnn':>9} {'best peer':>9}     {'ratio':>6} {'least to most':16} "
    "ours   | best peer"
)
