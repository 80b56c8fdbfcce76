import type { Figure } from './figures.ts'
import type { Scratch } from './scratch.ts'
import { measureDepth } from './turns-depth.ts'
import { measureAppend, measurePath } from './turns-floor.ts'
import { measureGroup } from './turns-group.ts'
import { measureListing } from './turns-listing.ts'
import { measureSize } from './turns-size.ts'

/** A usual turn with a long answer, and a short one. */
const usual = 3400
const short = 670

/** The tree of turns on SQLite with full durability: against depth, against bare SQLite, against its own text. */
export async function turns(scratch: Scratch): Promise<Figure[]> {
  return [
    ...(await measureDepth(scratch)),
    await measureAppend(scratch, { bytes: usual, goal: { atMost: 1.6 } }),
    await measureAppend(scratch, { bytes: short, goal: null }),
    await measurePath(scratch, { bytes: usual, goal: { atMost: 1.2 } }),
    await measurePath(scratch, { bytes: short, goal: null }),
    await measureListing(scratch),
    ...(await measureGroup(scratch)),
    await measureSize(scratch, { bytes: usual, goal: { atMost: 1.6 } }),
    await measureSize(scratch, { bytes: short, goal: null }),
  ]
}
