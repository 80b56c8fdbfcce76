import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Schema, Validator } from '@cfworker/json-schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openapi } from '../../src/gateway/openapi.ts'
import { allRoutes } from '../../src/gateway/routes/table.ts'
import { untilSo } from '../setup/until.ts'
import { newGateway, type TestGateway } from './gateway.ts'
import { send, signedIn, webSettings } from './web-client.ts'

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: answers are what is tested
  body: any
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: object }> }>
}

const document = openapi('0') as { paths: Record<string, Record<string, Operation>>; components: object }
const never = new AbortController().signal
const files = {
  'src/api/a.ts': 'export const a = 1 // TODO\n',
  'src/web/b.ts': 'export const b = 2\n',
  'README.md': '# x\n',
}

let gateway: TestGateway
let folder: string
/** Routes that were asked, with what their answers broke. */
const asked = new Map<string, string[]>()

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-answers-')))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  // No model: the rehearsal answers, with real plans, tools and questions.
  gateway = await newGateway([], {
    web: webSettings,
    configure: (config) => {
      config.agent.default = '@coordinator'
    },
  })
})
afterAll(async () => {
  await gateway.remove()
  rmSync(folder, { recursive: true })
})

/** Sends a request; a body of strings goes as lines, and lines are answered as a text. */
function ask(
  verb: string,
  path: string,
  body?: object | string[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isLines = Array.isArray(body)
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ socketPath: gateway.server.path, method: verb, path },
      headers: { ...headers, ...(body && { 'content-type': isLines ? 'application/x-ndjson' : 'application/json' }) },
    })
    sent.on('error', reject)
    sent.on('response', async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: response.headers['content-type'] === 'application/json' ? JSON.parse(text) : text === '' ? null : text,
      })
    })
    sent.end(isLines ? body.join('\n') : body && JSON.stringify(body))
  })
}

/** Asks a route and holds its answer to the schema of its status; `:id` in the path is replaced by the id. */
async function check(
  route: string,
  { id = '', query = {}, body }: { id?: string | number; query?: object; body?: object } = {},
) {
  const [verb = '', path = ''] = route.split(' ')
  const address = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const at = `${path.replace(':id', String(id))}${address.size > 0 ? `?${address}` : ''}`
  const answer = await ask(verb, at, verb === 'POST' ? (body ?? {}) : undefined)
  expect([route, answer.status, answer.body]).toEqual([route, expect.toBeOneOf([200, 202]), answer.body])
  asked.set(route, [...(asked.get(route) ?? []), ...wrongWith(route, answer)])
  return answer.body
}

/** Asks a route that answers with lines, which is all that the document says of it. */
async function checkLines(route: string, query = ''): Promise<string[]> {
  const [verb = '', path = ''] = route.split(' ')
  const { status, headers, body } = await ask(verb, `${path}${query}`)
  const { content } = document.paths[path]?.[verb.toLowerCase()]?.responses[status] ?? {}
  const types = Object.keys(content ?? {})
  const isAsSaid = types.length === 1 && String(headers['content-type']).startsWith(types[0] ?? '-')
  asked.set(route, isAsSaid ? [] : [`${route}: ${status} ${headers['content-type']}`])
  return body.trimEnd().split('\n')
}

function wrongWith(route: string, { status, body }: Answer): string[] {
  const [verb = '', path = ''] = route.split(' ')
  const operation = document.paths[path.replace(':id', '{id}')]?.[verb.toLowerCase()]
  const schema = operation?.responses[status]?.content?.['application/json']?.schema
  if (!schema) return [`${route}: no schema for ${status}`]
  // An answer that says `ok` has the fields of its method beside it.
  const { allOf: [, of] = [] } = schema as { allOf?: object[] }
  const { ok: _, ...rest } = of ? body : {}
  const root = { ...(of ?? schema), components: exactly(document.components) } as Schema
  const { errors } = new Validator(root, '2020-12', false).validate(of ? rest : body)
  return errors.slice(-1).map(({ instanceLocation, error }) => `${route}: ${instanceLocation} ${error}`)
}

/** Schemas that allow no field which they do not name: what leaves the house is what its types say. */
function exactly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(exactly)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, exactly(value)]))
  return inner['type'] === 'object' && inner['properties'] ? { additionalProperties: false, ...inner } : inner
}

describe('the answer of every route', () => {
  test('is as the OpenAPI document says, after real work', async () => {
    const { app, door } = gateway
    const here = { folder }
    const { itemId, runId } = await check('POST /v1/inputs', {
      body: { ...here, session: 'main', content: 'survey and report per part' },
    })
    await untilSo(async () => (await app.approvals()).length > 0)
    const [{ id, hash }] = (await check('GET /v1/approvals')).approvals
    await check('GET /v1/runs', { query: { folder } })
    await check('POST /v1/approvals/:id', { id, body: { answer: 'session', hash } })
    await door.answer(folder, itemId, never)
    await check('GET /v1/inputs/:id/answer', { id: itemId, query: here })
    await check('GET /v1/runs', { query: { all: true, limit: 3 } })
    await check('GET /v1/runs/:id', { id: runId })
    await check('GET /v1/runs/:id/steps', { id: runId })
    const [plan] = (await check('GET /v1/plans', { query: here })).plans
    await check('GET /v1/plans/:id', { id: plan.id })
    const [task] = (await check('GET /v1/tasks', { query: { plan: `plan:${plan.id}` } })).tasks
    await check('GET /v1/tasks/:id', { id: task.id })
    await check('GET /v1/results')
    await check('GET /v1/grants')
    const [grant] = await app.grants()
    await check('POST /v1/grants/:id/revoke', { id: grant?.id ?? 0 })
    await check('GET /v1/sessions', { query: here })
    await check('GET /v1/sessions/count')
    await check('POST /v1/sessions/route', { body: { ...here, message: 'survey', all: true } })
    await check('GET /v1/turns', { query: here })
    const [turn] = (await check('GET /v1/turns/window', { query: here })).turns
    await check('GET /v1/turns/tree', { query: here })
    await check('GET /v1/turns/tips')
    await check('GET /v1/turns/context', { query: { ...here, of: 'main' } })
    for (const reference of [
      `turn:${turn.id}`,
      `run:${runId}`,
      `plan:${plan.id}`,
      `task:${task.id}`,
      'result:1',
      'session:main',
      'approval:1',
    ])
      await check('GET /v1/show', { query: { ...here, reference } })
    await check('GET /v1/why', { query: { ...here, reference: 'file:REPORT.md:1' } })
    await check('GET /v1/why', { query: { ...here, reference: `turn:${turn.id}`, forward: true } })
    await check('POST /v1/turns/fork', { body: { ...here, turn: 'main', label: 'side' } })
    const draft = { query: [{ content: 'q' }], response: { content: 'a' } }
    await check('POST /v1/turns', { body: { ...here, session: 'side', draft } })
    await check('GET /v1/diff', { query: { ...here, a: 'main', b: 'side' } })
    await check('POST /v1/sessions/rename', { body: { ...here, session: 'side', label: 'other' } })
    await check('POST /v1/sessions/system-prompt', { body: { ...here, session: 'other', text: 'Be brief.' } })
    await check('POST /v1/sessions/archive', { body: { ...here, session: 'other', archived: true } })
    const persona = { id: 'ada', identity: { name: 'Ada', soul: 'calm' }, permissions: { tools: {} } }
    await check('POST /v1/personas', { body: { persona } })
    await check('GET /v1/personas')
    const [writer] = (await app.runs({ all: true, agent: 'writer' })).rows
    await check('POST /v1/runs/:id/undo', { id: writer?.id ?? '', body: { dryRun: true } })
    await check('GET /v1/usage', { query: { by: 'agent' } })
    await check('GET /v1/usage/days', { query: { days: 7 } })
    await check('GET /v1/status', { query: here })
    const spawning = {
      ...here,
      session: 'helped',
      agent: 'general',
      content: 'use sub-agents: find "a" in src; find "b" in src',
    }
    await door.answer(folder, (await check('POST /v1/inputs', { body: spawning })).itemId, never)
    const [subagent] = (await check('GET /v1/subagents', { query: { all: true } })).subagents
    await check('GET /v1/subagents/:id', { id: subagent.runId })
    await check('GET /v1/events/page', { query: { limit: 100 } })
    await check('GET /v1/cursor')
    await check('GET /v1/metrics')
    await check('GET /v1/narratives')
    await check('POST /v1/search', { body: { ...here, query: 'survey' } })
    await check('POST /v1/commands', { body: { ...here, session: 'main', line: '/status' } })
  })

  test('is as the OpenAPI document says, for what is decided, given up and tried again', async () => {
    const { app, door } = gateway
    const { itemId, runId } = await check('POST /v1/inputs', {
      body: { folder, session: 'again', content: 'survey and report per part', attended: true },
    })
    const proposed = async () => (await app.plans({ folder })).find(({ status }) => status === 'proposed')
    await untilSo(async () => (await proposed()) !== undefined)
    const plan = await proposed()
    const [task] = (await check('GET /v1/tasks', { query: { plan: `plan:${plan?.id}` } })).tasks
    const { briefHash } = await check('GET /v1/tasks/:id', { id: task.id })
    const change = { action: 'edit', skill: 'tester', expectedBrief: briefHash }
    await check('POST /v1/tasks/:id', { id: task.id, body: change })
    const late = await ask('POST', `/v1/tasks/${task.id}`, change)
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'changed_meanwhile' } } })
    await check('POST /v1/tasks/:id/cancel', { id: task.id, body: { reason: 'not now' } })
    await check('POST /v1/tasks/:id/retry', { id: task.id })
    await check('POST /v1/plans/:id/cancel', { id: plan?.id ?? 0 })
    await check('POST /v1/runs/:id/cancel', { id: runId })
    await door.answer(folder, itemId, never)
    const retried = await check('POST /v1/runs/:id/retry', { id: runId })
    await check('POST /v1/runs/:id/cancel', { id: retried.runId })
  })

  test('is as the OpenAPI document says, for what could not be sent', async () => {
    const out = join(folder, 'out')
    mkdirSync(out)
    const { id } = await check('POST /v1/jobs', {
      body: { folder, on: 'late.done', message: 'find "a" in src', deliver: ['file:out/found.txt'] },
    })
    // What lies elsewhere than when the job was made is not written to.
    rmSync(out, { recursive: true })
    symlinkSync(tmpdir(), out)
    await check('POST /v1/jobs/:id/run', { id })
    await untilSo(async () => (await gateway.app.outbox({ state: 'dead' })).length > 0)
    const [message] = (await check('GET /v1/outbox', { query: { state: 'dead' } })).messages
    await check('POST /v1/outbox/:id/retry', { id: message.id })
    await check('POST /v1/jobs/:id/remove', { id })
  })

  test('is as the OpenAPI document says, for lines, which another home takes as they are', async () => {
    const turns = await checkLines('GET /v1/turns/export', `?folder=${encodeURIComponent(folder)}`)
    expect(turns.length).toBeGreaterThan(2)
    expect(turns.map((line) => typeof JSON.parse(line))).toEqual(turns.map(() => 'object'))
    const taken = await ask('POST', '/v1/turns/import', turns)
    expect(taken.status).toBe(200)
    asked.set('POST /v1/turns/import', wrongWith('POST /v1/turns/import', taken))
    await check('POST /v1/memories', { body: { content: 'tea is at four', tags: [] } })
    const pieces = await checkLines('GET /v1/memories/export')
    expect(pieces.map((piece) => JSON.parse(piece)).join('')).toContain('tea is at four')
  })

  test('is as the OpenAPI document says, for what can be set', async () => {
    const here = { folder }
    await check('GET /v1/agents', { query: here })
    for (const name of ['coordinator', 'writer']) await check('GET /v1/agents/show', { query: { ...here, name } })
    await check('GET /v1/skills', { query: here })
    await check('POST /v1/agents/check', { body: { ...here, name: 'general' } })
    for (const route of ['models', 'commands', 'whoami', 'settings', 'profiles', 'jobs', 'jobs/week', 'outbox'])
      await check(`GET /v1/${route}`)
    await check('GET /v1/doctor', { query: here })
    await check('GET /v1/config', { query: { key: 'budgets' } })
    await check('POST /v1/profiles', { body: { profile: 'profile:x', value: { model: {}, allowedSkills: ['a'] } } })
    await check('GET /v1/profiles/show', { query: { profile: 'profile:x' } })
    await check('GET /v1/profiles/history', { query: { profile: 'profile:x' } })
    await check('POST /v1/agents/register', { body: { agentId: '@xx', profileId: 'profile:x', description: 'X.' } })
    const { registry, version } = await check('GET /v1/agents/registry')
    await check('POST /v1/agents/registry', { body: { registry, expectedVersion: version } })
    await check('GET /v1/agents/registry/history')
    await check('POST /v1/pins', { body: { ...here, scope: 'workspace', agentId: '@xx' } })
    await check('GET /v1/pins', { query: here })
    await check('POST /v1/pins/remove', { body: { ...here, scope: 'workspace' } })
    await check('POST /v1/agents/unregister', { body: { agentId: '@xx' } })
    await check('POST /v1/profiles/remove', { body: { profile: 'profile:x' } })
    await check('GET /v1/jobs/preview', { query: { every: '2h' } })
    const { id } = await check('POST /v1/jobs', { body: { ...here, on: 'deploy.done', message: 'find "a" in src' } })
    await check('POST /v1/jobs/:id', { id, body: { name: 'look' } })
    await check('POST /v1/jobs/:id/enable', { id, body: { enabled: true } })
    await check('POST /v1/jobs/emit', { body: { name: 'deploy.done' } })
    await check('POST /v1/jobs/:id/run', { id })
    await check('GET /v1/fires')
    await check('POST /v1/jobs/:id/remove', { id })
    await check('POST /v1/jobs/resume')
    const { memory } = await check('POST /v1/memories', { body: { content: 'the port is 8443', tags: ['net'] } })
    await check('GET /v1/memories', { query: { limit: 5 } })
    await check('GET /v1/show', { query: { ...here, reference: `memory:${memory.id}` } })
    await check('POST /v1/memories/search', { body: { question: 'which port?', limit: 3 } })
    await check('POST /v1/files/search', { body: { question: 'which port?', limit: 3 } })
    await check('POST /v1/memories/:id', { id: memory.id, body: { tags: ['port'] } })
    await check('POST /v1/memories/:id/forget', { id: memory.id })
    await check('POST /v1/memories/import', {
      body: { text: '## memory\nTea\n<!-- memory {} -->', name: 'x', trust: false },
    })
    const untrusted = (await gateway.app.memories({ limit: 100 })).find(({ trusted }) => !trusted)
    await check('POST /v1/memories/:id/trust', { id: untrusted?.id ?? 0 })
    await check('POST /v1/users', { body: { user: 'mia', ...here } })
    await check('GET /v1/users')
    await check('POST /v1/users/:id', { id: 'mia', body: { role: 'operator' } })
    await check('POST /v1/tokens', { body: { user: 'mia' } })
    const [token] = (await check('GET /v1/tokens')).tokens
    await check('POST /v1/tokens/:id/revoke', { id: token.id })
    await check('POST /v1/sign-in-links')
    await check('POST /v1/users/:id/remove', { id: 'mia' })
    await check('GET /v1/audit')
    await check('POST /v1/events/prune')
    await check('POST /v1/backup', { body: { file: join(folder, 'x.backup') } })
  })

  test('has no field of another kind or beyond those of its type, and no route was left out', () => {
    expect([...asked.values()].flat()).toEqual([])
    const left = allRoutes.map(({ route }) => `${route.verb} ${route.path}`).filter((route) => !asked.has(route))
    expect(left).toEqual([])
  })

  test('over TCP is in the document as well: who you are, signing in and out, probes and figures', async () => {
    const url = gateway.server.url ?? ''
    const cookie = await signedIn(gateway.app, url)
    const me = await send(url, '/v1/me', { headers: { cookie } })
    expect(wrongWith('GET /v1/me', { ...me, body: JSON.parse(me.text) })).toEqual([])
    const health = await ask('GET', '/v1/health')
    expect(wrongWith('GET /v1/health', health)).toEqual([])
    const out = await send(url, '/v1/sign-out', { method: 'POST', headers: { cookie, origin: url }, body: {} })
    expect(wrongWith('POST /v1/sign-out', { ...out, body: JSON.parse(out.text) })).toEqual([])
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/v1/sign-in', '/metrics', '/healthz', '/readyz']),
    )
  })
})

describe('the registry', () => {
  test('has its version as ETag, which a change may send as If-Match: an old one is refused with the newest', async () => {
    const read = await ask('GET', '/v1/agents/registry')
    const { version } = read.body
    const registry = { version: 1, agents: [] }
    expect(read.headers['etag']).toBe(`"${version}"`)
    const again = await ask('GET', '/v1/agents/registry', undefined, { 'if-none-match': `"${version}"` })
    expect([again.status, again.body]).toEqual([304, null])
    const saved = await ask('POST', '/v1/agents/registry', { registry }, { 'if-match': `"${version}"` })
    expect([saved.status, saved.headers['etag']]).toEqual([200, `"${version + 1}"`])
    const late = await ask('POST', '/v1/agents/registry', { registry }, { 'if-match': `"${version}"` })
    expect(late).toMatchObject({
      ...{ status: 412, headers: { etag: `"${version + 1}"` } },
      body: { ok: false, error: { code: 'changed_meanwhile' }, newest: { version: version + 1, registry } },
    })
    expect(wrongWith('POST /v1/agents/registry', late)).toEqual([])
    const named = await ask('POST', '/v1/agents/registry', { registry, expectedVersion: version })
    expect(named).toMatchObject({ status: 409, body: { newest: { version: version + 1 } } })
    for (const tag of ['*', 'W/"1"', '"x"'])
      expect(await ask('POST', '/v1/agents/registry', { registry }, { 'if-match': tag })).toMatchObject({
        ...{ status: 400, body: { error: { code: 'bad_request' } } },
      })
  })
})
