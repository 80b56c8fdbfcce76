import type { Figure } from './figures.ts'
import { measureDependents } from './plans-claim.ts'
import { measureSize } from './plans-size.ts'
import { measureTokens } from './plans-tokens.ts'
import type { Scratch } from './scratch.ts'

/** Plans with a model that takes no time: what a coordinator reads of them, and what they cost the engine. */
export async function plans(scratch: Scratch): Promise<Figure[]> {
  return [...(await measureTokens(scratch)), ...(await measureDependents(scratch)), ...(await measureSize(scratch))]
}
