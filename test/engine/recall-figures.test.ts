import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { remember } from '../../src/memory/remember.ts'
import { addScore } from '../../src/store/knowledge/memories.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office } from './test-team.ts'

const day = 86_400_000
const trusted = { integrity: 'trusted' as const, sources: [] }

interface Question {
  ask: string
  /** Text before a paste, and the paste that the question follows. */
  before?: string
  paste?: string
  /** Facts that must be among the reminders, and others that are welcome. */
  wants: string[]
  also?: string[]
}

interface Questions {
  asked: Question[]
  /** Never looked at while limits were chosen. */
  unseen: Question[]
  /** What no fact answers. */
  chat: string[]
  /** A statement, what was said later in other words, and a question in the words of the first one. */
  corrected: { was: string; now: string; ask: string }[]
  pastes: Record<string, string[]>
}

const facts: Record<string, string[]> = read('facts.json')
const { asked, unseen, chat, corrected, pastes }: Questions = read('questions.json')

describe.each(databases)('what a person is reminded of on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  test('of 120 facts in three languages the right ones are recalled, and half of what is recalled is wanted', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    const names = await rememberAll(office)
    const reminders = async (text: string) => (await remindedOf(office, text)).map((id) => names.get(id) ?? '?')
    const inChat = []
    for (const text of chat) inChat.push(...(await reminders(text)))
    for (const [kind, questions] of Object.entries({ asked, unseen })) {
      let right = 0
      let shown = inChat.length
      let wanted = 0
      const missed: string[] = []
      for (const question of questions) {
        const found = await reminders(textOf(question))
        const welcome = [...question.wants, ...(question.also ?? [])]
        if (question.wants.every((name) => found.includes(name))) right++
        else missed.push(question.ask)
        shown += found.length
        wanted += found.filter((name) => welcome.includes(name)).length
      }
      process.stdout.write(
        `recall, ${kind}: right facts ${right} of ${questions.length}; ${wanted} of ${shown} reminders are wanted\n`,
      )
      expect(right / questions.length, missed.join('\n')).toBeGreaterThanOrEqual(0.95)
      expect(wanted / shown).toBeGreaterThanOrEqual(0.5)
    }
    expect([Object.values(facts).flat().length, asked.length]).toEqual([120, 60])
  })

  test('what was said last stands first, in other words and however often the older statement was repeated', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await rememberAll(office)
    const ids = await office.engine.store.write('submit', async (tx) => {
      const keep = (content: string, at: number) =>
        remember(tx, { content, source: 'user', label: trusted }, since + at * day, 1000)
      const was: number[] = []
      for (const [at, each] of corrected.entries()) was.push((await keep(each.was, at)).id)
      for (const id of was) await addScore(tx, id, 3)
      const now: number[] = []
      for (const [at, each] of corrected.entries()) now.push((await keep(each.now, 30 + at)).id)
      return corrected.map((each, at) => ({ ask: each.ask, was: was[at] ?? 0, now: now[at] ?? 0 }))
    })
    const stale: string[] = []
    for (const { ask, was, now } of ids) {
      const found = await remindedOf(office, ask)
      const [older, newer] = [found.indexOf(was), found.indexOf(now)]
      if (newer === -1 || (older !== -1 && older < newer)) stale.push(ask)
    }
    process.stdout.write(`recall, corrected: the later one first in ${ids.length - stale.length} of ${ids.length}\n`)
    expect(stale.length / ids.length, stale.join('\n')).toBeLessThanOrEqual(0.1)
  })
})

const since = Date.UTC(2026, 5, 1)

async function remindedOf(office: Office, text: string): Promise<number[]> {
  const before = office.requestsOf('coordinator').length
  await office.ask(text, { label: `talk-${before}` })
  const note = office.requestsOf('coordinator')[before]?.note ?? ''
  return [...note.matchAll(/^\[id:(\d+)\]/gm)].map(([, id]) => Number(id))
}

async function rememberAll(office: Office): Promise<Map<number, string>> {
  const names = new Map<number, string>()
  const all = Object.entries(facts).flatMap(([language, texts]) =>
    texts.map((content, at) => ({ content, name: `${language}${at + 1}` })),
  )
  await office.engine.store.write('submit', async (tx) => {
    for (const [at, { content, name }] of all.entries()) {
      const { id } = await remember(tx, { content, source: 'user', label: trusted }, since + at * day, 1000)
      names.set(id, name)
    }
  })
  return names
}

/** The message as it is sent: a paste is repeated until it is longer than any prompt that a person types. */
function textOf({ before, paste, ask }: Question): string {
  const lines = paste === undefined ? [] : (pastes[paste] ?? [])
  const pasted: string[] = []
  while (lines.length > 0 && pasted.join('\n').length < 6000) pasted.push(...lines)
  return [before, pasted.join('\n'), ask].filter((part) => part !== undefined && part !== '').join('\n\n')
}

function read(name: string) {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'recall-set', name), 'utf8'))
}
