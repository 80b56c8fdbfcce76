import type { Runtime } from '../src/engine/runtime.ts'
import { append } from '../src/engine/turns/append.ts'
import { fork } from '../src/engine/turns/fork.ts'
import { findThread, readPath } from '../src/store/rows/threads.ts'
import { type Figure, measurePairs, ratio } from './figures.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

const deep = 10_000
const shallow = 10
const readShallow = 100
const lastTurns = 50
/** A shallow session is left for the next one before it has grown deep. */
const appendsPerSession = 10

/**
 * What may not grow with the tree: appending, forking, and reading the end of a path. Deep and shallow are databases
 * of their own, so that reading through a whole table shows.
 */
export async function measureDepth(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`append, fork and read at depth ${deep}`)
  const deepWorld = await openWorld(scratch, 'deep')
  const shallowWorld = await openWorld(scratch, 'shallow')
  const readWorld = await openWorld(scratch, 'read-shallow')
  const draft = draftOf(670)
  const rounds = { pairs: 600, warmUp: 200 }
  const sessions = Array.from(
    { length: Math.ceil((rounds.pairs + rounds.warmUp) / appendsPerSession) },
    (_, number) => `shallow-${number}`,
  )
  const [deepHead = ''] = await grow(deepWorld, ['deep'], deep, draft)
  const [middleHead = ''] = await grow(readWorld, ['middle'], readShallow, draft)
  const [shallowHead = ''] = await grow(shallowWorld, sessions, sessions.length * shallow, draft)

  const appended = await measurePairs(
    {
      ours: () => append(deepWorld, { folder, label: 'deep', draft }),
      floor: (round) =>
        append(shallowWorld, { folder, label: sessions[Math.floor(round / appendsPerSession)] ?? '', draft }),
    },
    rounds,
  )
  const forked = await measurePairs(
    {
      ours: (round) => fork(deepWorld, { folder, turnId: deepHead, label: `fork-deep-${round}` }),
      floor: (round) => fork(shallowWorld, { folder, turnId: shallowHead, label: `fork-shallow-${round}` }),
    },
    rounds,
  )
  const read = await measurePairs(
    { ours: () => readLast(deepWorld, deepHead), floor: () => readLast(readWorld, middleHead) },
    { pairs: 300, warmUp: 50 },
  )
  for (const { store } of [deepWorld, shallowWorld, readWorld]) await store.close()
  return [
    ratio(`append at depth ${deep} / at depth ${shallow}`, { atMost: 1.2 }, appended, ['deep', 'shallow']),
    ratio(`fork at depth ${deep} / at depth ${shallow}`, { atMost: 1.2 }, forked, ['deep', 'shallow']),
    ratio(`last ${lastTurns} turns at depth ${deep} / at depth ${readShallow}`, { atMost: 1.5 }, read, [
      'deep',
      'shallow',
    ]),
  ]
}

function readLast(runtime: Runtime, turnId: string) {
  return runtime.store.read(async (rows) => {
    const end = await findThread(rows, turnId)
    const turns = end ? await readPath(rows, end, end.depth - lastTurns + 1) : []
    if (turns.length !== lastTurns) throw new Error(`${turns.length} turns instead of ${lastTurns}`)
  })
}
