/** `npm run long` plays proofs at their full length; `npm test` a part of each that has every kind of case. */
export const isLong = process.env['LONG'] !== undefined

/** `DAY=<number>` plays the cases of another day. */
export const today = Number(process.env['DAY'] ?? Math.floor(Date.now() / 86_400_000))

/**
 * So many of a list, evenly from its beginning to its end, and others each day until all had their turn; all of it in
 * `npm run long`. The same all day, so that what failed is met again.
 */
export function inTurn<T>(all: readonly T[], most: number, day = today): T[] {
  if (isLong || all.length <= most) return [...all]
  const turn = turnOf(Math.ceil(all.length / most), day)
  return Array.from({ length: most }, (_, at) => all[Math.floor((at * all.length) / most) + turn] as T)
}

/** For proofs that take every so many-th case: which of them is the first. */
export function firstOf(step: number, day = today): number {
  return isLong ? 1 : 1 + turnOf(step, day)
}

/**
 * Which of so many turns a day has. A rule changes its database every day (`testOn`): if its turns came again after an even
 * number of days, each would meet one database for ever, so each round of these begins one turn later.
 */
function turnOf(turns: number, day: number): number {
  return (turns % 2 === 0 ? day + Math.floor(day / turns) : day) % turns
}
