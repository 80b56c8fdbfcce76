import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { remember } from '../../src/memory/remember.ts'
import { databases } from '../setup/places.ts'
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
  pastes: Record<string, string[]>
}

const facts: Record<string, string[]> = read('facts.json')
const { asked, unseen, chat, pastes }: Questions = read('questions.json')

describe.each(databases)('what a person is reminded of on %s', (database) => {
  let office: Office
  afterEach(() => office.remove())

  test('of 120 facts in three languages the right ones are recalled, and half of what is recalled is wanted', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    const names = await rememberAll(office)
    const reminders = async (text: string) => {
      const before = office.requestsOf('coordinator').length
      await office.ask(text, { label: `talk-${before}` })
      const note = office.requestsOf('coordinator')[before]?.note ?? ''
      return [...note.matchAll(/^\[id:(\d+)\]/gm)].map(([, id]) => names.get(Number(id)) ?? '?')
    }
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
})

async function rememberAll(office: Office): Promise<Map<number, string>> {
  const names = new Map<number, string>()
  const all = Object.entries(facts).flatMap(([language, texts]) =>
    texts.map((content, at) => ({ content, name: `${language}${at + 1}` })),
  )
  const since = Date.UTC(2026, 5, 1)
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
