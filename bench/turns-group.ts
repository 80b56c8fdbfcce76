import type { Runtime } from '../src/engine/runtime.ts'
import { append } from '../src/engine/turns/append.ts'
import { recordEvent } from '../src/store/rows/events.ts'
import { type Figure, measurePairs, ratio } from './figures.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

const callers = 100
const writesEach = 4

/** Concurrent callers share commits; each awaits its own write before the next, as sessions do. */
export async function measureGroup(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`${callers} concurrent callers`)
  const runtime = await openWorld(scratch, 'group')
  const draft = draftOf(670)
  const labels = Array.from({ length: callers }, (_, caller) => `caller-${caller}`)
  await grow(runtime, labels, callers, draft)
  const appends = await measureSharing(labels, (label) => append(runtime, { folder, label, draft }))
  const rows = await measureSharing(labels, (label) => writeOneRow(runtime, label))
  await runtime.store.close()
  const writes = callers * writesEach
  return [
    ratio(`${writes} appends by ${callers} callers at once / one after another`, { atMost: 0.2 }, appends, [
      'at once',
      'in turn',
    ]),
    ratio(`${writes} writes of one row, likewise`, null, rows, ['at once', 'in turn']),
  ]
}

function measureSharing(callers: string[], write: (caller: string) => Promise<unknown>) {
  const writeSome = async (caller: string) => {
    for (let number = 0; number < writesEach; number++) await write(caller)
  }
  return measurePairs(
    {
      ours: () => Promise.all(callers.map(writeSome)),
      floor: async () => {
        for (const caller of callers) await writeSome(caller)
      },
    },
    { pairs: 21, warmUp: 4 },
  )
}

/** The least that `store.write` can be asked for. */
function writeOneRow({ store, clock }: Runtime, label: string): Promise<void> {
  return store.write('session', (tx) =>
    recordEvent(tx, {
      at: clock.now(),
      kind: 'session.renamed',
      subject: `session:${label}`,
      payload: {},
      scope: null,
    }),
  )
}
