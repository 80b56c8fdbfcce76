import { afterEach, describe, expect, test } from 'vitest'
import type { ModelMessage, ModelRequest } from '../../src/domain/model.ts'
import { cancel } from '../../src/engine/run/cancel.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { type Gate, gate } from '../../src/models/gate.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { folder, newEngine, type TestEngine, testTool } from './engine.ts'

const summary =
  'They went through the first pages of the report, one after the other, and found nothing wrong. '.repeat(5)
const isSummary = ({ system }: ModelRequest) => system.startsWith('This conversation is too long')
const page = (number: string) => `page ${number}: ${'words and more words '.repeat(60)}`

describe.each(databases)(
  'a conversation of twenty turns with tools, a fork, stops and a compaction, on %s',
  (database) => {
    let under: TestEngine
    afterEach(async () => {
      expect(under.troubles).toEqual([])
      await under.remove()
    })

    /** Reads the page that it is asked for, stops half-way through an answer where it is asked to be slow, else answers. */
    function reader(held: Map<string, Gate>) {
      return scriptedModel(
        (request) => {
          if (isSummary(request)) return { text: summary }
          const last = request.messages.at(-1)
          const [, asked] = /^read (\w+)$/.exec(last?.role === 'user' ? last.content : '') ?? []
          if (asked) return { text: `I read ${asked}.`, calls: [{ id: 'c1', name: 'read', input: { asked } }] }
          const slow = held.get(last?.content ?? '')
          return slow
            ? { pieces: [`half of an answer to ${last?.content}`, slow] }
            : { text: `Answer to: ${opening(last)}` }
        },
        { window: 5000 },
      )
    }

    test('reads as one that nobody interrupted, to the model and to the user', async () => {
      const held = new Map([
        ['slowly 7', gate()],
        ['slowly 13', gate()],
      ])
      const read = testTool('read', 'pure', (input) => page((input as { asked: string }).asked))
      const model = reader(held)
      under = await newEngine(database, model, {
        tools: [read],
        limits: { perRequest: { usd: 5, tokens: 10_000_000 } },
      })
      await under.work()
      const said: string[] = []
      const say = async (content: string, label = 'main') => {
        if (label === 'main') said.push(content)
        const { runId } = await under.say(content, { label })
        const slow = held.get(content)
        if (slow) {
          await slow.reached
          await cancel(under.engine, runId ?? '', 'stopped by Ctrl-C')
        }
        await under.until(async (rows) => (await findRun(rows, runId ?? ''))?.finishedAt !== null)
      }
      for (let turn = 1; turn <= 20; turn++) {
        await say(held.has(`slowly ${turn}`) ? `slowly ${turn}` : turn % 2 === 0 ? `read p${turn}` : `question ${turn}`)
        if (turn === 10) {
          const [head] = (await under.turns(10)).slice(-1)
          await fork(under.engine, { folder, turnId: head?.turn.id ?? '', label: 'other' })
          await say('read p99', 'other')
        }
      }

      // To the user: every turn is there, in order, the stopped ones with what had been said.
      const path = await under.turns(20)
      const turns = path.filter(({ turn }) => turn.type === 'normal')
      expect(turns.map(({ turn }) => turn.queryMessages.map(({ content }) => content).join())).toEqual(said)
      expect(path.length - turns.length).toBeGreaterThan(0)
      const stopped = turns
        .filter(({ turn }) => turn.status === 'cancelled')
        .map(({ turn }) => turn.responseMessage.content)
      expect(stopped).toEqual(
        ['slowly 7', 'slowly 13'].map((asked) => `half of an answer to ${asked}\n\nCancelled: stopped by Ctrl-C`),
      )

      // To the model: each request goes on where the one before it ended, unless older turns were summed up in between.
      const requests = model.requests.filter((request) => !isSummary(request))
      for (const { messages } of requests) {
        expect(callsIn(messages)).toEqual(answersIn(messages))
        expect(new Set(callsIn(messages)).size).toBe(callsIn(messages).length)
      }
      const own = requests.filter(({ messages }) => !JSON.stringify(messages).includes('p99'))
      const breaks = own.filter(({ messages }, at) => !beginsWith(messages, own[at - 1]?.messages ?? []))
      expect(breaks.length).toBe(path.length - turns.length)
      for (const { messages } of breaks)
        expect(messages[0]?.content).toContain(`[summary of what came before]\n${summary}`)
      // The fork went on from the same words, and nothing of it is in the talk that it left.
      const forked = requests.filter(({ messages }) => JSON.stringify(messages).includes('p99'))
      expect(forked).toHaveLength(2)
      expect(forked[0]?.messages.slice(0, -1)).toEqual(lastBefore(own, 'question 11'))
      // Nothing of the talk is missing in what the model was shown in all.
      const shown = JSON.stringify(requests)
      for (const content of [...said, ...stopped.map((text) => text.slice(0, 20))]) expect(shown).toContain(content)
      for (const turn of [2, 4, 10, 20]) expect(shown).toContain(page(`p${turn}`).trim().slice(0, 200))
    })
  },
)

function opening(message: ModelMessage | undefined): string {
  return message?.content.slice(0, 30) ?? ''
}

function callsIn(messages: ModelMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? message.calls.map(({ id }) => id) : []))
}

function answersIn(messages: ModelMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
}

function beginsWith(messages: ModelMessage[], before: ModelMessage[]): boolean {
  return JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before)
}

/** What a model was shown when this was asked, without it. */
function lastBefore(requests: ModelRequest[], asked: string): ModelMessage[] | undefined {
  return requests.find(({ messages }) => messages.at(-1)?.content === asked)?.messages.slice(0, -1)
}
