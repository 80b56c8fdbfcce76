import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isTerminal, newRun, type Run, type RunState, runMoves, runStates } from '../../src/domain/run.ts'
import { parkRun, requeueRun } from '../../src/store/rows/released-runs.ts'
import { assignRun, findRun, finishRun, insertRun } from '../../src/store/rows/runs.ts'
import type { Tx } from '../../src/store/store.ts'
import { databases, newTestRuntime } from '../setup/places.ts'

const moves = runStates.flatMap((from) => runStates.map((to) => [from, to] as const))

describe.each(databases)('the state of a run on %s', (database) => {
  test('changes only by a legal move, and any other change is refused whole', async () => {
    const { store, newId, remove } = await newTestRuntime(database)
    for (const [from, to] of moves) {
      const run = runIn(from, newId())
      await store.write('submit', (tx) => insertRun(tx, run))
      const moving = store.write('step', (tx) => move(tx, run, to))
      // A claim looks at the state of the row that it has locked, and needs no answer to its assignment.
      if (runMoves[from].includes(to) || to === 'running') await moving
      else await expect(moving, `${from} → ${to}`).rejects.toThrow(`cannot change to ${to} from its current state`)
      const after = await store.read((rows) => findRun(rows, run.id))
      expect(after?.state).toBe(runMoves[from].includes(to) ? to : from)
    }
    await remove()
  })
})

test.each(['ARCHITECTURE.md', 'src/engine/run/README.md'])(
  'the diagram of run states in %s is the table of legal moves',
  (file) => {
    const page = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(page) ?? []
    const drawn = [...diagram.matchAll(/^ *(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} → ${to}`)
    const legal = runStates.flatMap((from) => runMoves[from].map((to) => `${from} → ${to}`))
    expect(drawn.toSorted()).toEqual(legal.toSorted())
  },
)

/** A run as the rows allow it in this state. */
function runIn(state: RunState, id: string): Run {
  return {
    ...newRun({ id, kind: 'turn', via: 'user', sessionId: null, now: 1, principal: 'owner' }),
    state,
    workerId: state === 'running' ? 'owner' : null,
    waitingFor: state === 'waiting' ? 'retry' : null,
    finishedAt: isTerminal(state) ? 2 : null,
  }
}

function move(tx: Tx, run: Run, to: RunState): Promise<void> {
  if (to === 'queued') return requeueRun(tx, run.id)
  if (to === 'running') return assignRun(tx, run, 'owner')
  if (to === 'waiting') return parkRun(tx, run.id, { waitingFor: 'retry', tries: 0 })
  return finishRun(tx, run.id, { state: to, error: null, activeMs: 0, label: run.label, at: 2 })
}
