import { afterEach, describe, expect } from 'vitest'
import type { Label } from '../../src/domain/label.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { listApprovals } from '../../src/engine/views/questions.ts'
import { show } from '../../src/engine/views/show.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun, runsOf } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, nobody, type TestEngine, testTool } from './engine.ts'
import { spawnTool } from './family.ts'
import { startMortal } from './killable-engine.ts'

const strange: Label = { integrity: 'untrusted', sources: ['url:https://strange.example/'] }

describe.each(databases)('the label of a run on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const visit: Tool = {
    ...(testTool('visit', 'pure', () => 'buy now') as Extract<Tool, { run: unknown }>),
    run: async () => ({ status: 'ok', output: 'buy now', label: strange }),
  }
  const push = testTool('push', 'unsafe', () => 'pushed')
  const model = () =>
    scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool' && last.name === 'visit' && messages.some(({ content }) => content.includes('then')))
        return messages.some(({ content }) => content.includes('push'))
          ? { calls: [{ name: 'push' }] }
          : { calls: [{ name: 'spawn', input: 'plain' }] }
      if (last?.role === 'tool') return { text: 'done' }
      return last?.content.startsWith('visit') ? { calls: [{ name: 'visit' }] } : { text: 'yes' }
    })
  const begin = async () => {
    under = await newEngine(database, model(), { tools: [visit, push, spawnTool(() => under)], ask: ['push'] })
    await under.work()
  }
  const labelOf = async (runId: string | null) =>
    (await under.runtime.store.read((rows) => findRun(rows, runId ?? '')))?.label

  test('is trusted as long as nobody else was heard', async () => {
    await begin()
    const { runId } = await under.say('hello')
    const [placed] = await under.turns(1)
    expect(await labelOf(runId)).toEqual({ integrity: 'trusted', sources: [] })
    expect(placed?.turn.label).toEqual({ integrity: 'trusted', sources: [] })
  })

  test('is that of what its tools brought, and stays so for all that follows in the session', async () => {
    await begin()
    const { runId } = await under.say('visit')
    const [placed] = await under.turns(1)
    expect(await labelOf(runId)).toEqual(strange)
    expect(placed?.turn.label).toEqual(strange)
    const later = await under.say('hello')
    await under.turns(2)
    expect(await labelOf(later.runId)).toEqual(strange)
    // Elsewhere nobody has heard of it.
    const other = await under.say('hello', { label: 'other' })
    await under.turns(1, 'other')
    expect(await labelOf(other.runId)).toEqual({ integrity: 'trusted', sources: [] })
  })

  test('is carried on to what it begins, and back with what that answers', async () => {
    await begin()
    await under.say('visit, then hand it over')
    await under.turns(2)
    const child = (await under.runtime.store.read((rows) => runsOf(rows, {}))).find(({ depth }) => depth === 1)
    expect(child?.label).toEqual(strange)
    const items = await under.runtime.store.read((rows) => rows.all(rows.build.selectFrom('inbox').selectAll()))
    expect(items.filter(({ kind }) => kind === 'result').map(({ integrity }) => integrity)).toEqual(['untrusted'])
  })

  test('is shown to whoever is asked, also after its process died', async () => {
    under = await newEngine(database, model(), { tools: [visit, push], ask: ['push'] })
    const mortal = startMortal(under)
    const { runId } = await under.say('visit, then push')
    await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.state === 'waiting')
    mortal.kill()
    const [question] = await under.runtime.store.read(listApprovals)
    expect(question).toMatchObject({ trusted: false, sources: strange.sources })
    const around = { now: 0, agents: nobody, protect: nothingProtected, limits: { usd: 1, tokens: 1, steps: 1 } }
    const view = await under.runtime.store.read((rows) => show(rows, `run:${runId}`, folder, around))
    expect(view).toMatchObject({ label: strange })
    await cancel(under.engine, runId ?? '', 'no')
    expect(await labelOf(runId)).toEqual(strange)
  })
})
