import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { HeddleError } from '../../src/domain/errors.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { archive, rename } from '../../src/engine/turns/sessions.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { treeWindow } from '../../src/engine/turns/windows.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findThread, readAllTurns, readThreads, readTips } from '../../src/store/rows/threads.ts'
import { type Database, databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'

const folder = '/somewhere'
const labels = ['main', 'b', 'c', 'd']
const label = fc.constantFrom(...labels)
const pick = fc.nat({ max: 1000 })

type Action =
  | { do: 'append'; label: string; text: string }
  | { do: 'append below'; label: string; pick: number }
  | { do: 'fork'; pick: number; label: string }
  | { do: 'rename'; from: string; to: string }
  | { do: 'archive'; label: string; archived: boolean }
  | { do: 'import from elsewhere'; turns: number }
  | { do: 'import what is here' }
  | { do: 'restart' }

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('append' as const), label, text: fc.string({ unit: 'binary' }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('append below' as const), label, pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fork' as const), pick, label }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename' as const), from: label, to: label }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('archive' as const), label, archived: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('import from elsewhere' as const), turns: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'import what is here' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

/** What must hold, told as simply as possible: turns know their parents, sessions know their heads. */
class Model {
  readonly turns = new Map<string, { parent: string | null; tokens: number }>()
  readonly sessions = new Map<string, { head: string | null; archived: boolean }>()

  turnAt(pick: number): string | undefined {
    return [...this.turns.keys()].sort()[pick % Math.max(1, this.turns.size)]
  }

  path(id: string | null): string[] {
    return id === null ? [] : [...this.path(this.turns.get(id)?.parent ?? null), id]
  }

  hasChildren(id: string): boolean {
    return [...this.turns.values()].some(({ parent }) => parent === id)
  }
}

describe.each(databases)('the tree on %s', (database) => {
  let runtime: TestRuntime | undefined
  afterEach(() => runtime?.remove())

  test('any sequence of append, fork, rename, archive, import and restart equals a simple model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25 }), async (actions) => {
        runtime = await newTestRuntime(database)
        const model = new Model()
        try {
          for (const each of actions) await perform(each, runtime, model, database)
          await compare(runtime, model)
        } finally {
          await runtime.remove()
          runtime = undefined
        }
      }),
      { numRuns: database === 'sqlite' ? 60 : 15 },
    )
  }, 120_000)
})

async function perform(action: Action, runtime: TestRuntime, model: Model, database: Database): Promise<void> {
  const session = (name: string) => model.sessions.get(name)
  const draft = (text: string) => ({ query: [{ content: text }], response: { content: 'yes' } })
  const added = (name: string, turnId: string, parent: string | null, tokens: number) => {
    model.turns.set(turnId, { parent, tokens })
    model.sessions.set(name, { archived: session(name)?.archived ?? false, head: turnId })
  }
  switch (action.do) {
    case 'append': {
      const { turnId } = await append(runtime, { folder, label: action.label, draft: draft(action.text) })
      added(action.label, turnId, session(action.label)?.head ?? null, Math.ceil((action.text.length + 3) / 4))
      return
    }
    case 'append below': {
      const parentTurnId = model.turnAt(action.pick)
      if (parentTurnId === undefined) return
      const taken = session(action.label)
      const attempt = append(runtime, { folder, label: action.label, draft: draft('q'), parentTurnId })
      if (taken && taken.head !== parentTurnId) await refused(attempt, 'not_head')
      else added(action.label, (await attempt).turnId, parentTurnId, 1)
      return
    }
    case 'fork': {
      const turnId = model.turnAt(action.pick)
      if (turnId === undefined) return
      const attempt = fork(runtime, { folder, turnId, label: action.label })
      if (session(action.label)) await refused(attempt, 'label_taken')
      else model.sessions.set(action.label, { head: (await attempt).headTurnId, archived: false })
      return
    }
    case 'rename': {
      const attempt = rename(runtime, folder, `session:${action.from}`, action.to)
      const from = session(action.from)
      if (!from) await refused(attempt, 'not_found')
      else if (session(action.to) && action.from !== action.to) await refused(attempt, 'label_taken')
      else {
        await attempt
        model.sessions.delete(action.from)
        model.sessions.set(action.to, from)
      }
      return
    }
    case 'archive': {
      const attempt = archive(runtime, folder, `session:${action.label}`, action.archived)
      const found = session(action.label)
      if (!found) await refused(attempt, 'not_found')
      else {
        await attempt
        model.sessions.set(action.label, { ...found, archived: action.archived })
      }
      return
    }
    case 'import from elsewhere': {
      const elsewhere = await newTestRuntime(database)
      let parent: string | null = null
      for (let i = 0; i < action.turns; i++) {
        const { turnId } = await append(elsewhere, { folder: '/elsewhere', label: 'x', draft: draft('q') })
        model.turns.set(turnId, { parent, tokens: 1 })
        parent = turnId
      }
      const report = await importTurns(runtime, exportedLines(elsewhere))
      await elsewhere.remove()
      expect(report).toMatchObject({ imported: action.turns, skipped: 0 })
      return
    }
    case 'import what is here':
      expect(await importTurns(runtime, exportedLines(runtime))).toEqual({
        imported: 0,
        skipped: model.turns.size,
        sessions: [],
      })
      return
    case 'restart': {
      await runtime.restart()
      return
    }
  }
}

async function* exportedLines(runtime: TestRuntime): AsyncIterable<string> {
  for await (const turn of exportTurns(runtime.store)) yield JSON.stringify(turn)
}

async function refused(attempt: Promise<unknown>, code: string): Promise<void> {
  const error = await attempt.then(
    () => undefined,
    (failure) => failure,
  )
  expect(error).toBeInstanceOf(HeddleError)
  expect(error.code).toBe(code)
}

async function compare({ store }: TestRuntime, model: Model): Promise<void> {
  await store.read(async (rows) => {
    const sessions = await findSessions(rows, { folder })
    expect(
      new Map(sessions.map((each) => [each.label, { head: each.headTurnId, archived: each.archivedAt !== null }])),
    ).toEqual(model.sessions)

    const stored = []
    for await (const page of readAllTurns(rows)) stored.push(...page)
    expect(new Set(stored.map(({ turn }) => turn.id))).toEqual(new Set(model.turns.keys()))

    for (const id of model.turns.keys()) {
      const thread = await findThread(rows, id)
      const path = model.path(id)
      expect(thread).toMatchObject({
        parentTurnId: model.turns.get(id)?.parent,
        depth: path.length,
        hasChildren: model.hasChildren(id),
        totalTokens: path.reduce((sum, each) => sum + (model.turns.get(each)?.tokens ?? 0), 0),
      })
      if (!thread) continue
      expect((await readThreads(rows, thread)).map(({ turnId }) => turnId)).toEqual(path)
      const { rows: ofTree } = await treeWindow(rows, { of: thread })
      const sameRoot = [...model.turns.keys()].filter((other) => model.path(other)[0] === path[0])
      expect(ofTree.map((line) => line.id)).toEqual(sameRoot.sort().reverse())
    }
    const tips = (await readTips(rows)).map(({ turnId }) => turnId)
    expect(new Set(tips)).toEqual(new Set([...model.turns.keys()].filter((id) => !model.hasChildren(id))))
  })
}
