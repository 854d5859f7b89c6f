"""What the tests of reports put into runs, and what they look for in pages."""

import json
import time

from PIL import Image

from promptpo.video.film import Mp4Writer

#: What a model may write; none of it may ever become markup.
HOSTILE = "</script></pre></title></textarea><script>alert(1)</script><img src=x onerror=alert(2)>"

HOSTILE_FEEDBACK = f"""
class Feedback:
    def summarize_trajectory(self, traj):
        return "{HOSTILE} " + str(traj.length)
"""

HOSTILE_POLICY = f'''
class Policy:
    """Says {HOSTILE} of itself."""

    def act(self, obs):
        name = "{HOSTILE}"
        return int(obs.pole_angle > 0)
'''

CRASH = f"""
class Policy:
    def act(self, obs):
        raise ValueError("{HOSTILE}")
"""


def cut_after(folder, wanted):
    """Leave the log as it was just after the ``wanted``-th end of a round; returns the rest."""
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if b'"type": "round"' in line]
    stop = ends[wanted - 1] + 1 if wanted else 1
    log.write_bytes(b"".join(lines[:stop]))
    (folder / "run.json").unlink()
    return b"".join(lines[stop:])


def began_ago(folder, seconds):
    """Move the log in time, so that the run began so many seconds ago."""
    log = folder / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    shift = time.time() - seconds - events[0]["time"]
    moved = [event | {"time": event["time"] + shift} for event in events]
    log.write_text("".join(json.dumps(event) + "\n" for event in moved))


def write_video(path):
    """One second of a grey square."""
    path.parent.mkdir()
    writer = Mp4Writer(path, 10, path.parent.parent)
    for i in range(10):
        writer.add(Image.new("RGB", (64, 64), (20 * i,) * 3))
    writer.close()


#: Text whose contrast with its background is below 4.5 (WCAG AA; 3 for large text).
FAINT_TEXT = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => {
    v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  for (const e of document.querySelectorAll("main *, .livebar *, footer *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("title, desc")) continue;
    const style = getComputedStyle(e);
    const color = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [luminance(parse(color)), luminance(behind(e))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) faint.add(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
  }
  return [...faint];
}"""
