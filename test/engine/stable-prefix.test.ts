import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { makeModel } from '../../src/app/models.ts'
import { timeNote } from '../../src/engine/run/context/context.ts'
import { systemClock } from '../../src/system.ts'
import { openTestApp, type ProviderRequest, startProvider } from '../../src/testing.ts'

// Fifty turns on a real disk, one after the other.
vi.setConfig({ testTimeout: 120_000 })
afterEach(() => vi.unstubAllEnvs())

const minute = 60_000
const turns = 50
/** Requests before this one are so short that a question and an answer of usual length are more than a twentieth. */
const firstLong = 10

interface Body {
  system?: unknown
  tools?: unknown
  messages: { role: string; content: unknown }[]
}

/** A talk of fifty turns a minute apart, some of which look at a file, with a model of this kind: what was really sent. */
async function talk(
  provider: 'anthropic' | 'openai-compatible',
): Promise<{ bodies: Body[]; notes: unknown[]; kept: string }> {
  const notes: unknown[] = []
  const answer = (request: ProviderRequest) => {
    notes.push(request.note)
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const isAnswered = request.messages.at(-1)?.role === 'tool'
    if (asked.includes('look') && !isAnswered) return { calls: [{ name: 'list_dir', input: { path: '.' } }] }
    return { text: `An answer of a few sentences to: ${asked} ${'It goes on for a while. '.repeat(10)}` }
  }
  const server = await startProvider({ answer })
  onTestFinished(() => server.close())
  let passed = 0
  const clock = { ...systemClock, now: () => systemClock.now() + passed }
  const named = { provider, model: 'm-1', baseURL: server.url, contextWindow: 1_000_000 }
  const app = await openTestApp({ models: [makeModel('main', named, clock)], clock })
  onTestFinished(() => app.remove())
  const rules = 'Say what you did, and where. Name files with their lines. Ask before you guess.\n'
  writeFileSync(join(app.home, 'AGENTS.md'), rules.repeat(60))
  const folder = mkdtempSync(join(app.home, '..', 'folder-'))
  for (const name of ['README.md', 'cart.ts', 'shop.ts']) writeFileSync(join(folder, name), 'x\n')
  const work = await app.work()
  for (let turn = 1; turn <= turns; turn++) {
    passed += minute
    const content = turn % 5 === 0 ? `look at this folder, for the ${turn}th time` : `question number ${turn}?`
    const { itemId } = await app.submit(folder, { session: 'main', content })
    await app.answer(folder, itemId, new AbortController().signal)
  }
  await work.stop()
  const bodies = server.log.flatMap((line) => (line.kind === 'received' ? [line.body as Body] : []))
  let kept = ''
  for await (const line of app.exportTurns(folder)) kept += line
  return { bodies, notes, kept }
}

/** A request in the order in which providers read and keep it: tools, prompt, messages. Marks are no part of the text. */
function asRead({ tools, system, messages }: Body): Buffer {
  return Buffer.from(
    JSON.stringify([tools, system, messages], (key, value) => (key === 'cache_control' ? undefined : value)),
  )
}

function repeated(before: Buffer, request: Buffer): number {
  let same = 0
  while (same < request.length && request[same] === before[same]) same++
  return same / request.length
}

test.each(['anthropic', 'openai-compatible'] as const)(
  '%s: from the tenth request on, at least 19 of 20 bytes of each repeats the beginning of the one before',
  async (kind) => {
    const { bodies, notes, kept } = await talk(kind)
    expect(bodies.length).toBe(turns + turns / 5)
    // Every request against the one right before it, whether that was of the same turn or of the turn before.
    const shares = bodies.slice(1).map((body, at) => repeated(asRead(bodies[at] as Body), asRead(body)))
    const late = shares.slice(firstLong - 1)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0.95)
    expect(new Set(notes).size).toBeGreaterThanOrEqual(turns)
    expect(kept).toContain(`question number ${turns - 1}?`)
    expect(kept).not.toContain('[now:')
    for (const [at, { messages }] of bodies.entries()) {
      expect(JSON.stringify(messages.at(-1))).toContain(notes[at])
      expect(JSON.stringify([messages.slice(0, -1), bodies[at]?.system])).not.toContain('[now:')
    }
  },
)

test('anthropic is told to keep everything but the time', async () => {
  const { bodies } = await talk('anthropic')
  const { system, messages } = bodies.at(-1) as Body & { system: object[] }
  const blocks = messages.flatMap(({ content }) => content as { text?: string; cache_control?: unknown }[])
  expect(system.at(-1)).toMatchObject({ cache_control: { type: 'ephemeral' } })
  expect(blocks.at(-1)?.text).toMatch(/^\[now: /)
  expect(blocks.at(-1)?.cache_control).toBeUndefined()
  expect(blocks.at(-2)?.cache_control).toEqual({ type: 'ephemeral' })
})

test.each([
  ['Europe/Berlin', '[now: Monday 2026-11-16 10:02 +01:00]'],
  ['America/St_Johns', '[now: Monday 2026-11-16 05:32 -03:30]'],
  ['UTC', '[now: Monday 2026-11-16 09:02 +00:00]'],
])('the time is told as clocks in %s show it', (zone, note) => {
  vi.stubEnv('TZ', zone)
  expect(timeNote(Date.UTC(2026, 10, 16, 9, 2, 31))).toBe(note)
})
