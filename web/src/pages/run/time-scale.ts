/** A stretch of time in which nothing happened. */
interface TimeBreak {
  from: number
  to: number
  /** Where it is drawn, 0 to 1. */
  start: number
  end: number
}

interface TimeScale {
  /** Place of a time, 0 to 1. */
  place(at: number): number
  breaks: TimeBreak[]
}

/** Pauses that are longer are cut short. */
const longestPause = 10_000
/** Share of the whole that each cut pause gets; together at most half of it. */
const breakShare = 0.06

/** A scale on which long pauses between the given times are short, so that a wait of hours does not hide the work. */
export function timeScale(times: readonly number[]): TimeScale {
  const sorted = [...new Set(times)].sort((a, b) => a - b)
  const [first = 0] = sorted
  const gaps = sorted.slice(1).map((to, at) => ({ from: sorted[at] ?? to, to }))
  const long = gaps.filter(({ from, to }) => to - from > longestPause)
  const busy = gaps.reduce((sum, { from, to }) => sum + (to - from > longestPause ? 0 : to - from), 0)
  const share = long.length === 0 ? 0 : Math.min(breakShare, 0.5 / long.length)
  const room = 1 - share * long.length
  const points = [{ at: first, place: 0 }]
  const breaks: TimeBreak[] = []
  let place = 0
  for (const { from, to } of gaps) {
    const isLong = to - from > longestPause
    const start = place
    place += isLong ? share : busy === 0 ? 0 : ((to - from) / busy) * room
    if (isLong) breaks.push({ from, to, start, end: place })
    points.push({ at: to, place })
  }
  return { breaks, place: (at) => placeAmong(points, at) }
}

function placeAmong(points: readonly { at: number; place: number }[], at: number): number {
  const next = points.findIndex((point) => point.at >= at)
  if (next === -1) return 1
  const [before, after] = [points[next - 1], points[next]]
  if (!before || !after) return 0
  return before.place + ((after.place - before.place) * (at - before.at)) / (after.at - before.at)
}
