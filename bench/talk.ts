import { join } from 'node:path'
import type { Model, ModelReply, ModelRequest, RequestedCall } from '../src/domain/model.ts'
import type { Tool } from '../src/domain/tools/tool.ts'
import { type Figure, figure } from './figures.ts'
import { ask, openHome } from './home.ts'
import { outputOf, sentFor } from './plans-script.ts'
import type { Scratch } from './scratch.ts'
import { tokensIn } from './tokens.ts'
import { lookUp } from './zero-latency.ts'

const turns = 50
/** Every so many turns a tool is needed. */
const everyNth = 3

/** What it looks up is a page. */
const long = { ...lookUp, run: async () => ({ status: 'ok', output: outputOf(4000) }) } as Tool

type Who = '@general' | '@coordinator'

/** A talk of fifty turns with tools: what a model is sent in all, and how much of each request it was sent before. */
export async function talk(scratch: Scratch): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const who of ['@general', '@coordinator'] as const) {
    scratch.say(`${turns} turns with ${who}`)
    const requests = await hold(scratch, who)
    const tokens = requests.map((each) => tokensIn(sentFor(each)))
    const total = tokens.reduce((sum, each) => sum + each, 0)
    const { kept, known } = repeated(requests)
    figures.push(
      figure(
        `${who}: ${turns} turns with tools, all that is sent`,
        'tokens',
        null,
        [total],
        `${requests.length} requests, the last of ${tokens.at(-1)} tokens; characters / 4`,
      ),
      figure(
        `${who}: part of a request that the next one begins with, unchanged`,
        'ratio',
        { atLeast: 0.95 },
        kept,
        `the least is ${Math.min(...kept).toFixed(3)}; without the time, which comes last`,
      ),
      figure(`${who}: part of a request that was sent before`, 'ratio', null, known, 'what a provider can have kept'),
    )
  }
  return figures
}

async function hold(scratch: Scratch, agent: Who): Promise<ModelRequest[]> {
  const requests: ModelRequest[] = []
  const model: Model = {
    name: 'played',
    window: 200_000_000,
    price: { input: 0, output: 0 },
    async reply(request) {
      const isOwn = request.tools.some(({ name }) => name === (agent === '@general' ? 'look_up' : 'spawn_agent'))
      if (isOwn) requests.push(structuredClone({ ...request, signal: undefined as never }))
      return isOwn ? answer(request, agent) : replied(outputOf(2000))
    },
  }
  const app = await openHome({ home: join(scratch.directory, `talk-${agent.slice(1)}`), model, agent, tools: [long] })
  const work = await app.work()
  for (let turn = 1; turn <= turns; turn++)
    await ask(app, 'main', `${turn % everyNth === 0 ? 'Look up' : 'Tell me'} what part ${turn} of the report says.`)
  await work.stop()
  await app.close()
  return requests
}

function answer({ messages }: ModelRequest, agent: Who): ModelReply {
  const last = messages.at(-1)
  if (last?.role !== 'user' || !last.content.startsWith('Look up')) return replied(outputOf(600))
  const calls: Omit<RequestedCall, 'id'>[] =
    agent === '@general'
      ? [{ name: 'look_up', input: { task: last.content } }]
      : [
          { name: 'spawn_agent', input: { skill: 'researcher', task: last.content } },
          { name: 'wait', input: {} },
        ]
  return replied(
    'I look.',
    calls.map((call, at) => ({ id: `call-${at + 1}`, ...call })),
  )
}

/** Of each request, as providers read it: what the next one begins with, and what of the next one that is. */
function repeated(requests: ModelRequest[]): { kept: number[]; known: number[] } {
  const read = requests.map(({ tools, system, messages }) => JSON.stringify([tools, system, messages]).slice(0, -2))
  const [kept, known]: [number[], number[]] = [[], []]
  for (const [at, request] of read.entries()) {
    const before = read[at - 1]
    if (before === undefined) continue
    let same = 0
    while (same < before.length && request[same] === before[same]) same++
    kept.push(same / before.length)
    known.push(same / request.length)
  }
  return { kept, known }
}

function replied(text: string, calls: RequestedCall[] = []): ModelReply {
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }
  return { text, calls, finish: calls.length > 0 ? 'calls' : 'stop', usage, model: 'played' }
}
