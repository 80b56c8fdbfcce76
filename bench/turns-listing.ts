import type { Runtime } from '../src/engine/runtime.ts'
import { fork } from '../src/engine/turns/fork.ts'
import { listTree } from '../src/engine/turns/history.ts'
import { findThread, readThreads } from '../src/store/rows/threads.ts'
import { type Figure, figure, measure } from './figures.ts'
import { draftOf, folder, grow, openWorld, type Scratch } from './scratch.ts'

const trunk = 300
const branch = 150

/** What `log --all` needs: every turn of a tree that forks twice. */
export async function measureListing(scratch: Scratch): Promise<Figure> {
  scratch.say('listing a tree')
  const runtime = await openWorld(scratch, 'listing')
  const draft = draftOf(3400)
  const [head = ''] = await grow(runtime, ['main'], trunk, draft)
  for (const [label, depth] of [
    ['early', 100],
    ['late', 200],
  ] as const) {
    await fork(runtime, { folder, turnId: await turnAt(runtime, head, depth), label })
    await grow(runtime, [label], branch, draft)
  }
  const times: number[] = []
  for (let round = 0; round < 60; round++) times.push(await measure(() => runtime.store.read(listTree)))
  const listed = await runtime.store.read(listTree)
  if (listed.length !== trunk + 2 * branch) throw new Error(`${listed.length} turns were listed`)
  await runtime.store.close()
  return figure(
    `listing ${listed.length} turns in three branches`,
    'ms',
    { atMost: 20 },
    times.slice(10),
    `listTree, turns of 3400 B, ${times.length - 10} times`,
  )
}

async function turnAt(runtime: Runtime, head: string, depth: number): Promise<string> {
  return runtime.store.read(async (rows) => {
    const end = await findThread(rows, head)
    const path = end ? await readThreads(rows, end, depth) : []
    return path[0]?.turnId ?? ''
  })
}
