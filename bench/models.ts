import type { Figure } from './figures.ts'
import { measureFirstWord } from './models-first-word.ts'
import { measureLayer } from './models-layer.ts'
import { measureSize } from './models-size.ts'
import { measureStart } from './models-start.ts'
import type { Scratch } from './scratch.ts'

/** What lies between a person and a model: our layer, the way to the screen, the start of a command, its size. */
export async function models(scratch: Scratch): Promise<Figure[]> {
  return [
    ...(await measureLayer(scratch)),
    ...(await measureFirstWord(scratch)),
    ...(await measureStart(scratch)),
    measureSize(),
  ]
}
