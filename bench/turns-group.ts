import { append } from '../src/engine/append.ts'
import { type Figure, measurePairs, ratio } from './figures.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

const callers = 100
const writesEach = 4

/** Concurrent callers share commits; each awaits its own write before the next, as sessions do. */
export async function measureGroup(scratch: Scratch): Promise<Figure> {
  scratch.say(`${callers} concurrent callers`)
  const world = await openWorld(scratch, 'group')
  const draft = draftOf(670)
  const labels = Array.from({ length: callers }, (_, caller) => `caller-${caller}`)
  await grow(world, labels, callers, draft)
  const writeInTurn = async (label: string) => {
    for (let write = 0; write < writesEach; write++) await append(world, { folder, label, draft })
  }
  const pairs = await measurePairs(
    {
      ours: () => Promise.all(labels.map(writeInTurn)),
      floor: async () => {
        for (const label of labels) await writeInTurn(label)
      },
    },
    { pairs: 21, warmUp: 4 },
  )
  await world.store.close()
  const name = `${callers * writesEach} writes by ${callers} concurrent callers / one after another`
  return ratio(name, 0.2, pairs, ['together', 'in turn'])
}
