import { expect, test } from 'vitest'
import { shortId } from '../../src/domain/id.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { show } from '../../src/engine/views/show.ts'
import { why } from '../../src/engine/why/why.ts'
import { remember } from '../../src/memory/remember.ts'
import { archiveMemory } from '../../src/store/knowledge/memories.ts'
import { insertNarrative } from '../../src/store/knowledge/narratives.ts'
import { heard, scansIn } from './heard.ts'
import { newOffice, type Play, planner, planningCoordinator } from './test-team.ts'

const budget = { usd: 5, tokens: 1000 }
const trusted = { integrity: 'trusted' as const, sources: [] }

const researcher: Play = (said) =>
  said.length === 1
    ? { calls: [{ name: 'read_file', input: { path: 'in.txt' } }] }
    : { text: 'Part a has 12 files, 31 exports.' }
const writer: Play = (said) =>
  said.length > 1
    ? { text: 'Wrote it.' }
    : { calls: [{ name: 'write_file', input: { path: 'REPORT.md', content: '# Report\n\nPart a has 12 files.\n' } }] }

test('why and show look everything up by key, however many rows there are', async () => {
  const office = await newOffice('sqlite', {
    coordinator: planningCoordinator(),
    'project-planner': planner({ key: 'a' }, { key: 'b', needs: ['a'], skill: 'writer' }),
    researcher,
    writer,
  })
  const { store, clock, agents } = office.engine
  office.put('in.txt', 'a\n')
  const { turns, runId: asking } = await office.ask('go')
  const runId = asking ?? ''
  await store.write('submit', async (tx) => {
    const draft = { source: 'agent' as const, label: trusted, runId, resultId: 1, taskId: 1 }
    for (const content of ['The port is 7070', 'The port is 8080', 'The port is 9090'])
      await remember(tx, { ...draft, content }, clock.now(), 1000)
    await archiveMemory(tx, 1)
    for (const previousId of [null, 1])
      await insertNarrative(tx, {
        ...{ summary: 'It is done.', topic: null, folder: office.folder, memoryIds: [3], previousId },
        ...{ sessionId: null, runId, turnId: turns[0] ?? null, label: trusted, createdAt: clock.now() },
      })
  })
  const asked = new Set<string>()
  const last = turns.at(-1) ?? ''
  const named = [
    ...[
      `turn:${last}`,
      `turn:${shortId(last)}`,
      shortId(last),
      `run:${runId}`,
      `run:${shortId(runId)}`,
      shortId(runId),
    ],
    ...['task:2', 'plan:1', 'result:2', 'memory:3', 'memory:1', 'narrative:2', 'session:main', 'main'],
  ]
  const explaining = { store: heard(store, asked), protect: nothingProtected, budget }
  for (const ref of [...named, 'REPORT.md', 'REPORT.md:3', 'in.txt'])
    await why(explaining, office.folder, ref, { forward: true })
  // From another folder a session is found by its label alone.
  await why(explaining, '/elsewhere', 'session:main')
  const around = { now: clock.now(), agents, protect: explaining.protect, limits: { ...budget, steps: 10 } }
  for (const ref of named) await explaining.store.read((rows) => show(rows, ref, office.folder, around))
  const scans = scansIn(store.place, asked)
  await office.remove()
  expect(asked.size).toBeGreaterThan(40)
  expect(scans).toEqual([])
})
