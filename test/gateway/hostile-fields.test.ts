import { Agent, request } from 'node:http'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { owner } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { ModelFailure, type ModelRequest } from '../../src/domain/model.ts'
import { availableTools, delegatingTools, memoryWriters } from '../../src/domain/tools/tool-names.ts'
import type { Route } from '../../src/gateway/routes/route.ts'
import { allRoutes } from '../../src/gateway/routes/table.ts'
import type { ScriptedReply } from '../../src/models/scripted.ts'
import { openTestApp, scriptedModel, seededRandom, type TestApp } from '../../src/testing.ts'
import { inTurn } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'
import { fieldsOf, hostileData, hostileTexts } from './hostile-values.ts'

// Thousands of requests: far more than they take, since a machine that does other things, too, is no failure.
vi.setConfig({ testTimeout: 600_000 })

// Every value goes into every field alone, then several at once as a seed chooses; without rounds some of the values a day.
const rounds = Number(process.env['HOSTILE_ROUNDS'] ?? 0)
const seed = Number(process.env['SEED'] ?? 1)

/** The values whose turn it is; all of them in `npm run hostile`. */
const some = <T>(values: readonly T[]): T[] =>
  rounds === 0 ? inTurn(values, Math.ceil(values.length / 24)) : [...values]

let gateway: TestGateway | undefined
afterEach(async () => {
  await gateway?.remove()
  gateway = undefined
})

/** Sends requests over a few connections that stay open, and gives the statuses. */
function sender(socketPath: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  onTestFinished(() => agent.destroy())
  const send = (method: string, path: string, body?: string, isLines = false) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const type = isLines ? 'application/x-ndjson' : 'application/json'
      const headers = body === undefined ? {} : { 'content-type': type }
      const sent = request({ socketPath, agent, method, path, headers })
      let isAnswered = false
      sent.on('error', (error) => {
        // The server closes a connection that was idle for long, as those of a busy machine are: nobody has read the request.
        if (sent.reusedSocket && !isAnswered) resolve(send(method, path, body, isLines))
        else reject(error)
      })
      sent.on('response', async (response) => {
        isAnswered = true
        const status = response.statusCode ?? 0
        // A stream of events that was accepted never ends by itself.
        if (response.headers['content-type']?.startsWith('text/event-stream')) {
          resolve({ status, text: '' })
          response.destroy()
          return
        }
        let text = ''
        for await (const piece of response.setEncoding('utf8')) text += piece
        resolve({ status, text })
      })
      sent.end(body)
    })
  return send
}

interface Hostile {
  method: string
  path: string
  body?: string
  lines?: boolean
}

/** Path and body of each request that puts these values into a route's fields, one at a time or as `choose` says. */
function* requestsTo(
  { verb: method, path, input, takesLines }: Route,
  ids: readonly string[],
  known: readonly string[],
  choose?: () => number,
) {
  const isBody = method === 'POST'
  const { valid, names } = fieldsOf(input, folder)
  const made = (id: string, fields: Record<string, unknown>): Hostile => {
    const at = path.replace(':id', () => encodedId(id))
    if (takesLines) return { method, path: at, body: `${JSON.stringify(fields)}\n`, lines: true }
    if (isBody) return { method, path: at, body: JSON.stringify(fields) }
    const asked = Object.entries(fields).map(([name, value]) => `${encoded(name)}=${encoded(String(value))}`)
    return { method, path: asked.length === 0 ? at : `${at}?${asked.join('&')}` }
  }
  const values = isBody ? hostileData(known) : hostileTexts(known).filter((text) => text.length < 10_000)
  const usual = ids[0] ?? ''
  if (choose) {
    const pick = <T>(from: readonly T[]): T => from[choose() % from.length] as T
    const chosen = names.filter(() => choose() % 3 === 0).map((name) => [name, pick(values)])
    yield made(pick([...ids, ...hostileTexts().slice(0, 15)]), { ...valid, ...Object.fromEntries(chosen) })
    return
  }
  if (path.includes(':id'))
    for (const id of [...some(hostileTexts().filter((text) => text.length < 4000)), ...ids]) yield made(id, valid)
  for (const name of names) for (const value of some(values)) yield made(usual, { ...valid, [name]: value })
  for (const name of ['__proto__', 'constructor', 'x']) yield made(usual, { ...valid, [name]: 'x' })
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** In a path an escape may also stand for bytes that are no text. */
function encodedId(text: string): string {
  return text.isWellFormed() ? encoded(text) : '%ed%a0%80'
}

/** Resolves when no run is under way; one that waits for a person is cancelled. */
async function everyRunEnds({ app, door }: TestGateway): Promise<void> {
  await untilSo(async () => {
    for (const { runId } of await app.approvals()) await door.cancel(runId, 'enough')
    return (await app.runs()).rows.length === 0
  })
}

describe.each(databases)('hostile values on %s', (database) => {
  const test = testOn(database)
  test('in any field of any route are taken or refused, and every run ends', async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool' || last?.content !== 'delegate') return { text: 'fine' }
      return { calls: [{ name: 'sessions_spawn', input: { task: 'child' } }] }
    })
    gateway = await newGateway([model], { database })
    const { app, door } = gateway
    const first = await door.submit(folder, { session: 'main', content: 'delegate' })
    await door.answer(folder, first.itemId, new AbortController().signal)
    const runs = (await app.runs({ all: true })).rows.map(({ id }) => id)
    const known = [`result:${runs[0]}`, `join:${runs[0]}`]
    const send = sender(gateway.server.path)
    const ids = [...runs, first.itemId, '1', '999999999999999']
    const wrong: unknown[] = []
    // A backup writes a file wherever it is told to.
    const asked = allRoutes.filter(({ method }) => method !== 'backup')
    const put = async ({ method, path, body, lines }: Hostile) => {
      const { status, text } = await send(method, path, body, lines)
      if (status >= 500 || status === 0)
        wrong.push({ method, path: path.slice(0, 100), body: body?.slice(0, 200), text })
    }
    for (const { route } of asked) {
      const all = [...requestsTo(route, ids, known)]
      for (let at = 0; at < all.length; at += 8) await Promise.all(all.slice(at, at + 8).map(put))
    }
    const random = seededRandom(seed)
    const choose = () => Buffer.from(random.bytes(4)).readUInt32LE()
    for (let round = 0; round < rounds; round++)
      for (const { route } of asked) for (const each of requestsTo(route, ids, known, choose)) await put(each)
    expect(wrong).toEqual([])
    await everyRunEnds(gateway)
    expect(({} as Record<string, unknown>)['polluted']).toBe(undefined)
  })

  test('in whatever a model replies, itself or as a child, let every run end', async () => {
    const tools = [...memoryWriters, ...delegatingTools, ...availableTools].filter((name) => name !== 'wait')
    const values = some(hostileTexts()).map((text) => text.slice(0, 1000))
    const replies: ScriptedReply[] = values.flatMap((v): ScriptedReply[] => [
      { text: v },
      { fail: new ModelFailure('refused', v, v, { retry: 'never' }) },
      { text: `Files:\n- ${v}\n- a${v}.md`, model: v },
      { calls: [{ id: v, name: v, input: { [v]: v } }], model: v, usage: { inputTokens: Number.NaN, costUsd: -1 } },
      { calls: [{ name: 'sessions_spawn', input: { task: v } }], metadata: { [v]: v } },
      { calls: tools.map((name) => ({ id: v, name, input: argumentsOf(name, v) })), usage: { outputTokens: 1.5 } },
    ])
    // A child says what it was asked, and a run that hears of it or of its tools likewise.
    const model = scriptedModel(({ messages }: ModelRequest) => {
      const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      const number = messages.at(-1)?.role === 'tool' ? undefined : /^say (\d+)$/.exec(content)?.[1]
      return number === undefined ? { text: content, model: content } : (replies[Number(number)] ?? { text: '' })
    })
    gateway = await newGateway([model], { database })
    const { door } = gateway
    const asked: { itemId: string }[] = []
    // The coordinator has other tools, and no other way to say something.
    for (const at of replies.keys())
      for (const agent of at % 6 === 5 ? ['general', 'coordinator'] : ['general'])
        asked.push(await door.submit(folder, { session: `${agent}-${at}`, content: `say ${at}`, agent }))
    await everyRunEnds(gateway)
    const answers = await Promise.all(asked.map(({ itemId }) => door.answer(folder, itemId, AbortSignal.abort())))
    const codes = new Set(answers.map(({ status, error }) => error?.code ?? status))
    // Blanks are no answer.
    const expected = ['completed', 'cancelled', 'looping', 'nothing_returned', 'refused']
    expect([...codes].filter((code) => !expected.includes(code))).toEqual([])
    const results = await gateway.app.results()
    expect(results.length).toBeGreaterThanOrEqual(values.length - 1)
    // A child that was asked for blanks says nothing, which is no answer.
    const failed = results.filter(({ status, summary }) => status !== 'completed' && !/without an answer/.test(summary))
    expect(failed).toEqual([])
  })
})

/** Arguments that fit a tool, as far as text can: the others are told so. */
function argumentsOf(tool: string, text: string): Record<string, unknown> {
  switch (tool) {
    case 'spawn_agent':
      return { task: text, skill: 'researcher', context: text }
    case 'plan_tasks':
      return { title: text, goal: text, tasks: [{ key: 'a', title: text, context: text, skill: 'researcher' }] }
    case 'write_file':
      return { path: 'notes.md', content: text }
    case 'edit_file':
      return { path: text, old_text: text, new_text: text }
    case 'exec':
      return { command: text }
    case 'narrative_update':
      return { summary: text }
    case 'memory_update':
      return { id: 1, content: text }
    case 'memory_store':
    case 'remember':
      return { content: text, tags: [text] }
    default:
      return { path: text, query: text, url: text }
  }
}

describe('hostile values', () => {
  let app: TestApp | undefined
  afterEach(() => app?.remove())

  test('in any argument of what commands ask for are taken or refused with what to do', async () => {
    app = await openTestApp({ models: [scriptedModel(() => ({ text: 'fine' }))] })
    const work = await app.work()
    const asked = calls(app)
    const covered = new Set(asked.map(([name]) => name))
    expect(Object.keys(app.as(owner)).filter((name) => !covered.has(name) && !notAsked.includes(name))).toEqual([])
    const wrong: unknown[] = []
    for (const [name, call] of asked)
      for (const text of some(hostileTexts()))
        await call(text).catch((error: unknown) => {
          if (!(error instanceof HeddleError)) wrong.push({ name, text: text.slice(0, 40), error: String(error) })
        })
    expect(wrong).toEqual([])
    const { runs } = app
    await untilSo(async () => (await runs()).rows.length === 0)
    await work.stop()
  })
})

/** What takes nothing from outside, or a file that a person names. */
const notAsked = ['backup', 'prune', 'cursor', 'tips', 'personas', 'approvals', 'users', 'tokens', 'revokeToken']
notAsked.push('commands', 'models', 'whoami')
notAsked.push('grants', 'revokeGrant', 'results', 'follow', 'trustMemory', 'forgetMemory', 'exportMemories')

/** Every other call of an App with one text in all its arguments. */
function calls(app: TestApp): [string, (text: string) => Promise<unknown>][] {
  const here = '/here'
  const draft = (v: string) => ({
    query: [{ content: v, parts: [{ type: 'file' as const, path: v, mediaType: v, data: v }] }],
    response: { content: v },
    model: { requested: v, actual: v },
    systemPrompt: v,
    toolCalls: [{ id: v, name: v, input: { [v]: v }, output: v, status: 'ok' as const }],
  })
  const exported = (v: string) =>
    (async function* () {
      yield v
      yield JSON.stringify({ turn: { id: v }, run: { id: v }, sessions: [{ folder: v, label: v }], [v]: v })
    })()
  return [
    ['submit', (v) => app.submit(here, { session: 'main', content: v, dedupeKey: v })],
    ['submit', (v) => app.submit(here, { session: 'main', content: v, outerRef: v })],
    ['submit', (v) => app.submit(v, { session: v, content: v, agent: v, model: v, from: v })],
    ['submit', (v) => app.submit(here, { session: 'main', content: `@${v} x`, model: v })],
    [
      'submit',
      (v) => app.submit(here, { session: 'main', content: v, timeoutSeconds: Number(v), priority: Number(v) }),
    ],
    ['answer', (v) => app.answer(v, v, AbortSignal.abort())],
    ['append', (v) => app.append(here, { session: 'made', draft: draft(v) })],
    ['append', (v) => app.append(v, { session: v, draft: draft('x'), parent: v, persona: v })],
    ['fork', (v) => app.fork(here, { turn: v, label: v, persona: v })],
    ['fork', (v) => app.fork(here, { turn: 'made', label: v, persona: v })],
    ['renameSession', (v) => app.renameSession(here, 'made', v)],
    ['renameSession', (v) => app.renameSession(v, v, v)],
    ['checkAgent', (v) => app.checkAgent(v, v)],
    ['command', (v) => app.command(here, { session: 'main', line: v })],
    ['command', (v) => app.command(v, { session: v, line: `/show ${v}`, model: v })],
    ['setting', (v) => app.setting(v)],
    ['settings', () => app.settings()],
    ['doctor', (v) => app.doctor(v)],
    ['jobWeek', () => app.jobWeek()],
    ['setSystemPrompt', (v) => app.setSystemPrompt(here, 'made', v)],
    ['setSystemPrompt', (v) => app.setSystemPrompt(v, v, v)],
    ['archiveSession', (v) => app.archiveSession(here, v, true)],
    ['sessions', (v) => app.sessions({ folder: v })],
    ['sessions', (v) => app.sessions({ label: v, after: v, limit: Number(v) })],
    ['countSessions', (v) => app.countSessions({ folder: v, label: v })],
    ['runs', (v) => app.runs({ after: v })],
    ['subagents', (v) => app.subagents({ after: v })],
    ['subagents', (v) => app.subagents({ all: true, after: v })],
    ['subagent', (v) => app.subagent(v)],
    ['usage', (v) => app.usage('session', { after: v })],
    ['routeSmart', (v) => app.routeSmart(here, v)],
    ['log', (v) => app.log(v, { of: v })],
    ['context', (v) => app.context(here, v)],
    ['show', (v) => app.show(here, v)],
    ['why', (v) => app.why(here, v, { forward: true })],
    ['diff', (v) => app.diff(here, v, 'made')],
    ['exportTurns', (v) => drained(app.exportTurns(here, v))],
    ['importTurns', (v) => app.importTurns(exported(v))],
    [
      'setPersona',
      (v) => app.setPersona({ id: v, identity: { name: v, soul: v }, permissions: { tools: { deny: [v] } } }),
    ],
    ['setPersona', (v) => app.setPersona({ ...persona, defaultModelConfig: { model: v } })],
    ['events', (v) => app.events({ after: v })],
    ['work', (v) => app.work({ folder: v, session: v }).then((work) => work.stop())],
    ['cancel', (v) => app.cancel(v, v)],
    ['retry', (v) => app.retry(v)],
    ['agents', (v) => app.agents(v)],
    ['agent', (v) => app.agent(folder, v)],
    ['skills', (v) => app.skills(v)],
    ['plans', (v) => app.plans({ folder: v })],
    ['tasks', (v) => app.tasks({ plan: v })],
    ['changeTask', (v) => app.changeTask(v, { action: 'edit', context: v, skill: v, expectedBrief: v, reason: v })],
    ['jobs', () => app.jobs()],
    ['previewJob', (v) => app.previewJob({ at: v, timezone: v })],
    ['previewJob', (v) => app.previewJob({ every: '1h', activeHours: v })],
    ['addJob', (v) => app.addJob(here, { name: v, every: '1h', message: v, session: v, agent: v, model: v })],
    ['addJob', (v) => app.addJob(here, { on: v, event: v, deliver: [v] })],
    ['addJob', (v) => app.addJob(v, { cron: v, message: 'x' })],
    ['addJob', (v) => app.addJob(here, { on: 'x', message: 'x', timeoutSeconds: Number(v), maxFailures: Number(v) })],
    ['editJob', (v) => app.editJob(Number(v), { every: v })],
    ['enableJob', (v) => app.enableJob(Number(v), true)],
    ['removeJob', (v) => app.removeJob(Number(v))],
    ['runJob', (v) => app.runJob(Number(v))],
    ['fires', (v) => app.fires({ job: Number(v), limit: Number(v) })],
    ['emitEvent', (v) => app.emitEvent(v, v)],
    ['emitEvent', (v) => app.emitEvent('x', v)],
    ['resumeJobs', () => app.resumeJobs()],
    ['outbox', (v) => app.outbox({ limit: Number(v) })],
    ['retryMessage', (v) => app.retryMessage(Number(v))],
    ['profiles', () => app.profiles()],
    ['profile', (v) => app.profile(v)],
    ['profileHistory', (v) => app.profileHistory(v)],
    ['setProfile', (v) => app.setProfile(v, { model: { model: v }, allowedSkills: [v], [v]: v })],
    ['setProfile', (v) => app.setProfile('profile:x', { model: { provider: v }, systemPrompt: v, allowedSkills: [v] })],
    ['setProfile', (v) => app.setProfile('profile:y', JSON.parse('{"model":{}}'), Number(v))],
    ['deleteProfile', (v) => app.deleteProfile(v, Number(v))],
    ['agentRegistry', () => app.agentRegistry()],
    ['setAgentRegistry', (v) => app.setAgentRegistry({ version: 1, agents: [v], [v]: v }, Number(v))],
    ['setAgentRegistry', (v) => app.setAgentRegistry(v, 1)],
    ['registerAgent', (v) => app.registerAgent({ agentId: v, profileId: v, description: v, tags: [v] })],
    [
      'registerAgent',
      (v) =>
        app
          .registerAgent({ agentId: '@hostile', profileId: 'profile:writer:v1', description: v, tags: [v] })
          .finally(() => app.unregisterAgent('@hostile').catch(() => undefined)),
    ],
    ['unregisterAgent', (v) => app.unregisterAgent(v)],
    ['registryHistory', () => app.registryHistory()],
    ['pins', (v) => app.pins(here, v)],
    ['pins', (v) => app.pins(v)],
    ['setPin', (v) => app.setPin(here, { scope: 'session', session: v, agentId: v })],
    ['setPin', (v) => app.setPin(v, { scope: v as 'user', profileId: v })],
    ['removePin', (v) => app.removePin(v, { scope: 'workspace', session: v })],
    ['decide', (v) => app.decide(v, { answer: 'no', reason: v, hash: v })],
    ['undo', (v) => app.undo(v)],
    ['status', (v) => app.status(v, 0)],
    ['remember', (v) => app.remember({ content: v, tags: [v], keywords: [v] })],
    ['changeMemory', (v) => app.changeMemory(1, { content: v, tags: [v], keywords: [v] })],
    ['memories', () => app.memories({ limit: 1000, all: true })],
    ['searchMemories', (v) => app.searchMemories(v, { limit: 10 })],
    ['searchFiles', (v) => app.searchFiles(v, { limit: 10 })],
    ['search', (v) => app.search(here, { query: v })],
    ['search', (v) => app.search(here, { query: 'x', session: v })],
    ['search', (v) => app.search(here, { query: 'x', after: v, limit: Number(v), kind: v as 'turn' })],
    ['importMemories', (v) => app.importMemories(`## memory:1\n${v}\n<!-- memory {} -->`, { name: v, trust: true })],
    ['addUser', (v) => app.addUser(v, { folder: v, role: v as 'public', tools: [v] })],
    ['addUser', (v) => app.addUser('mia', { folder: here, perDayUsd: Number(v) })],
    ['setUser', (v) => app.setUser(v, { tools: [v] })],
    ['setUser', (v) => app.setUser('mia', { tools: [`${v}*`], folder: v })],
    ['removeUser', (v) => app.removeUser(v)],
    ['createToken', (v) => app.createToken(v, { scopes: [v as 'ask'] })],
    ['createToken', (v) => app.createToken('mia', { expiresAt: Number(v) })],
    ['createSignInLink', (v) => app.createSignInLink(v)],
    ['turnWindow', (v) => app.turnWindow(v, { of: v, after: v })],
    ['turnTree', (v) => app.turnTree({ folder: v, kind: v as 'agent', after: v })],
    ['turnTree', (v) => app.turnTree({ folder: here, of: v })],
    ['runSteps', (v) => app.runSteps(v)],
    ['usageByDay', (v) => app.usageByDay(Number(v))],
    ['metrics', () => app.metrics()],
    ['audit', (v) => app.audit({ limit: Number(v) })],
    ['narratives', (v) => app.narratives({ folder: v, limit: 10 })],
  ]
}

const persona = { id: 'p', identity: { name: 'P', soul: '' }, permissions: { tools: {} } }

async function drained(lines: AsyncIterable<string>): Promise<void> {
  for await (const _ of lines);
}
