import type { Runtime } from '../src/engine/runtime.ts'
import { append } from '../src/engine/turns/append.ts'
import { findThread, findTurn, readPath } from '../src/store/rows/threads.ts'
import { type Figure, type Goal, measurePairs, ratio } from './figures.ts'
import { openFloor } from './floor.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

interface Size {
  bytes: number
  goal: Goal
}

const pathTurns = 1000

/**
 * One durable append through our API against one durable bare insert of the same turn. The floor gets its JSON ready
 * made; ours makes ids, message and JSON itself, and writes run, turn, place, head and event.
 */
export async function measureAppend(scratch: Scratch, { bytes, goal }: Size): Promise<Figure> {
  scratch.say(`append of ${bytes} bytes against a bare insert`)
  const runtime = await openWorld(scratch, `append-${bytes}`)
  const floor = openFloor(scratch, `append-${bytes}-floor`)
  const draft = draftOf(bytes)
  const [first = ''] = await grow(runtime, ['main'], 1, draft)
  const json = JSON.stringify((await turnOf(runtime, first)).turn)
  // Past the first checkpoint of both: until then every commit makes the log longer, which costs more than the rest.
  const rounds = { pairs: 1500, warmUp: 1500 }
  const keys = Array.from({ length: rounds.pairs + rounds.warmUp }, () => runtime.newId())
  const pairs = await measurePairs(
    {
      ours: () => append(runtime, { folder, label: 'main', draft }),
      floor: (round) => floor.insert(keys[round] ?? '', null, json),
    },
    rounds,
  )
  await runtime.store.close()
  floor.close()
  return ratio(`append of ${bytes} B / bare insert of the same JSON`, goal, pairs, ['append', 'bare'])
}

/** Both deliver the whole path as parsed turns with their messages; ours with each turn's place besides. */
export async function measurePath(scratch: Scratch, { bytes, goal }: Size): Promise<Figure> {
  scratch.say(`a path of ${pathTurns} turns of ${bytes} bytes against a bare recursive query`)
  const runtime = await openWorld(scratch, `path-${bytes}`)
  const floor = openFloor(scratch, `path-${bytes}-floor`)
  const [head = ''] = await grow(runtime, ['main'], pathTurns, draftOf(bytes))
  const turns = (await pathTo(runtime, head)).map(({ turn }) => turn)
  floor.together(() => {
    for (const turn of turns) floor.insert(turn.id, turn.parentTurnId, JSON.stringify(turn))
  })
  if (JSON.stringify(turns) !== JSON.stringify(floor.readPath(head))) throw new Error('the two paths differ')
  const pairs = await measurePairs(
    { ours: () => pathTo(runtime, head), floor: () => floor.readPath(head) },
    { pairs: 150, warmUp: 30 },
  )
  await runtime.store.close()
  floor.close()
  return ratio(`path of ${pathTurns} turns of ${bytes} B / bare recursive query`, goal, pairs, ['path', 'bare'])
}

function pathTo(runtime: Runtime, turnId: string) {
  return runtime.store.read(async (rows) => {
    const end = await findThread(rows, turnId)
    return end ? readPath(rows, end) : []
  })
}

async function turnOf(runtime: Runtime, turnId: string) {
  const found = await runtime.store.read((rows) => findTurn(rows, turnId))
  if (!found) throw new Error(`there is no turn ${turnId}`)
  return found
}
