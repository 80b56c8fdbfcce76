import { fork } from '../src/engine/fork.ts'
import { listTree } from '../src/engine/history.ts'
import type { World } from '../src/engine/world.ts'
import { findThread, readThreads } from '../src/store/threads.ts'
import { type Figure, figure, measure } from './figures.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

const trunk = 300
const branch = 150

/** What `log --all` needs: every turn of a tree that forks twice. */
export async function measureListing(scratch: Scratch): Promise<Figure> {
  scratch.say('listing a tree')
  const world = await openWorld(scratch, 'listing')
  const draft = draftOf(3400)
  const [head = ''] = await grow(world, ['main'], trunk, draft)
  for (const [label, depth] of [
    ['early', 100],
    ['late', 200],
  ] as const) {
    await fork(world, { folder, turnId: await turnAt(world, head, depth), label })
    await grow(world, [label], branch, draft)
  }
  const times: number[] = []
  for (let round = 0; round < 60; round++) times.push(await measure(() => world.store.read(listTree)))
  const listed = await world.store.read(listTree)
  if (listed.length !== trunk + 2 * branch) throw new Error(`${listed.length} turns were listed`)
  await world.store.close()
  return figure(
    `listing ${listed.length} turns in three branches`,
    'ms',
    { atMost: 20 },
    times.slice(10),
    `listTree, turns of 3400 B, ${times.length - 10} times`,
  )
}

async function turnAt(world: World, head: string, depth: number): Promise<string> {
  return world.store.read(async (rows) => {
    const end = await findThread(rows, head)
    const path = end ? await readThreads(rows, end, depth) : []
    return path[0]?.turnId ?? ''
  })
}
