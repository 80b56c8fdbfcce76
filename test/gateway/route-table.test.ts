import { request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { Heddle } from '../../src/api/heddle.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { owner, type Principal } from '../../src/domain/principal.ts'
import { socketClient } from '../../src/gateway/client.ts'
import { openapi } from '../../src/gateway/openapi.ts'
import { allRoutes, type RoutedMethod, routeTable } from '../../src/gateway/routes/table.ts'
import { serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

const never = new AbortController().signal
const draft = { query: [{ content: 'q' }], response: { content: 'a' }, toolCalls: [], usage: undefined }
const { usage: _, ...plainDraft } = draft

let gateway: TestGateway
afterEach(() => gateway?.remove())

async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

async function* each(lines: readonly string[]): AsyncIterable<string> {
  yield* lines
}

describe.each(databases)('the client on %s', (database) => {
  beforeEach(async () => {
    gateway = await newGateway([scriptedModel((_, n) => ({ text: `answer ${n}` }))], { database })
  })

  test('reads everything as the App tells it', async () => {
    const { app, door } = gateway
    const { itemId } = await door.submit(folder, { session: 'main', content: 'one' })
    const { turnId, runId } = await door.answer(folder, itemId, never)
    await door.fork(folder, { turn: 'main', label: 'side' })
    await door.append(folder, { session: 'side', draft: plainDraft })
    await door.remember({ content: 'the port is 8080', tags: ['port'] })
    const reads: [RoutedMethod, ...unknown[]][] = [
      ['sessions'],
      ['sessions', { folder }],
      ['routeSmart', folder, 'one', { all: true }],
      ['personas'],
      ['log', folder, {}],
      ['log', folder, { of: 'side', limit: 1 }],
      ['log', folder, { all: true }],
      ['tips'],
      ['context', folder, 'side'],
      ['show', folder, `turn:${turnId}`],
      ['show', folder, 'session:side'],
      ['show', '/', 'memory:1'],
      ['why', folder, `turn:${turnId}`],
      ['why', folder, `turn:${turnId}`, { forward: true }],
      ['diff', folder, 'main', 'side'],
      ['plans'],
      ['tasks', {}],
      ['results', { unprocessed: true }],
      ['approvals'],
      ['grants'],
      ['usage', 'session'],
      ['status', folder, 0],
      ['agents', folder],
      ['checkAgent', folder, 'general'],
      ['events', { limit: 3 }],
      ['cursor'],
      ['narratives', { limit: 5 }],
      ['memories', { limit: 5, all: true }],
      ['searchMemories', 'which port?', { limit: 3 }],
      ['searchFiles', 'which port?', { limit: 3 }],
    ]
    const ask = async (of: App, [method, ...args]: (typeof reads)[number]) =>
      (of[method] as (...args: unknown[]) => unknown)(...args)
    for (const read of reads)
      expect({ read, answer: await ask(door, read) }).toEqual({ read, answer: await ask(app, read) })
    expect(await door.runs({ all: true })).toMatchObject([{ id: runId }])
    expect(await collected(door.exportTurns(folder))).toEqual(await collected(app.exportTurns(folder)))
    expect(await collected(door.exportTurns(folder, 'side'))).toEqual(await collected(app.exportTurns(folder, 'side')))
    const text = async (of: App) =>
      (await collected(of.exportMemories({ all: true }))).join('').replace(/"exported":"[^"]*"/, '')
    expect(await text(door)).toBe(await text(app))
  })

  test('changes everything as the App does', async () => {
    const { app, door } = gateway
    const { turnId } = await door.append(folder, { session: 'main', draft: plainDraft })
    expect(await door.fork(folder, { turn: turnId, label: 'side' })).toEqual({ session: 'side', headTurnId: turnId })
    expect(await door.renameSession(folder, 'side', 'other')).toMatchObject({ label: 'other' })
    expect(await door.archiveSession(folder, 'other', true)).toMatchObject({ archived: true })
    const persona = { id: 'ada', identity: { name: 'Ada', soul: 'calm' }, permissions: { tools: { deny: ['exec'] } } }
    await door.setPersona(persona)
    expect(await app.personas()).toEqual([persona])
    const { memory } = await door.remember({ content: 'tea at four' })
    expect(await door.changeMemory(memory.id, { tags: ['tea'] })).toMatchObject({ memory: { tags: ['tea'] } })
    const file = (await collected(app.exportMemories())).join('')
    expect(await door.importMemories(file, { name: 'file', trust: true })).toMatchObject({ skipped: 1 })
    expect(await door.forgetMemory(memory.id, { older: true })).toMatchObject({ id: memory.id })
    const lines = await collected(app.exportTurns(folder))
    expect(await door.importTurns(each(lines))).toEqual({ imported: 0, skipped: lines.length, sessions: [] })
    expect(await door.prune()).toEqual({ events: 0 })
    const made = join(gateway.runFolder, 'backup')
    expect(await door.backup(made)).toMatchObject({ turns: 1 })
  })

  test('imports line by line, and is told which line is wrong', async () => {
    await expect(gateway.door.importTurns(each(['', 'no JSON']))).rejects.toMatchObject({
      message: expect.stringContaining('line 2'),
    })
    const broken = (async function* () {
      yield ''
      throw new HeddleError('unreadable', 'the file ended', 'look at it')
    })()
    await expect(gateway.door.importTurns(broken)).rejects.toMatchObject({ code: 'unreadable' })
  })

  test('follows events, and is told a cursor that is not kept', async () => {
    const { door, app } = gateway
    const { itemId } = await door.submit(folder, { session: 'main', content: 'one' })
    await door.answer(folder, itemId, never)
    const enough = new AbortController()
    const cursors: string[] = []
    for await (const { cursor, kind } of door.follow({ signal: enough.signal })) {
      cursors.push(cursor)
      if (kind === 'run.ended') enough.abort()
    }
    expect(cursors).toEqual((await app.events({})).map(({ cursor }) => cursor))
    await expect(door.exportTurns(folder, 'nothing')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

test('every method of App has a route, no two routes are the same, and each has a name of its own', async () => {
  gateway = await newGateway([])
  const methods = Object.keys(gateway.app.as(owner))
  expect(methods.filter((method) => method !== 'follow' && !Object.hasOwn(routeTable, method))).toEqual([])
  const named = allRoutes.map(({ route }) => `${route.verb} ${route.path}`)
  expect(named).toHaveLength(new Set(named).size)
  const operations = allRoutes.map(({ method, route }) => {
    const { paths } = openapi('0') as { paths: Record<string, Record<string, { operationId: string }>> }
    return { method, id: paths[route.path.replace(':id', '{id}')]?.[route.verb.toLowerCase()]?.operationId }
  })
  expect(new Set(operations.map(({ id }) => id)).size).toBe(allRoutes.length)
  for (const { method, id } of operations) expect(id?.split('_')[0]).toBe(method)
})

test('the OpenAPI document is served, with the fields that a route takes and what it insists on', async () => {
  gateway = await newGateway([])
  const document = await new Promise<Record<string, unknown>>((resolve, reject) => {
    const asked = request({ socketPath: gateway.server.path, path: '/v1/openapi.json' }, async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve(JSON.parse(text))
    })
    asked.on('error', reject).end()
  })
  expect(document).toMatchObject({
    openapi: '3.1.0',
    paths: {
      '/v1/runs/{id}/cancel': {
        post: {
          operationId: 'cancel_runs',
          parameters: [{ name: 'id', in: 'path', required: true }],
          requestBody: {
            content: {
              'application/json': { schema: { properties: { reason: { type: 'string', maxLength: 1000 } } } },
            },
          },
        },
      },
      '/v1/status': {
        get: {
          parameters: [
            { name: 'folder', in: 'query', required: true },
            { name: 'since', in: 'query', required: false },
          ],
        },
      },
    },
  })
})

describe('each request gets the App of its own principal, and no other', () => {
  const mia: Principal = { kind: 'user', id: 'mia', role: 'public' }
  const asked: { principal: Principal; method: string }[] = []
  /** Every method of an App notes for whom it was called, and answers with nothing. */
  const noting = (principal: Principal): App =>
    new Proxy({} as App, {
      get: (_, method: string) => () => {
        asked.push({ principal, method })
        return method.startsWith('export') ? each([]) : Promise.resolve([])
      },
    })
  const heddle = {
    as: noting,
    async identify(token: string | undefined) {
      if (token === undefined) return owner
      if (token === 'mia-token') return mia
      throw new HeddleError('unknown_token', 'no user has this token', 'ask the owner for one')
    },
    listen: () => () => undefined,
  } as unknown as Heddle

  const arguments_: Partial<Record<RoutedMethod, unknown[]>> = {
    submit: [folder, { session: 'main', content: 'x' }],
    answer: [folder, 'abcdef', AbortSignal.abort()],
    append: [folder, { session: 'main', draft: plainDraft }],
    fork: [folder, { turn: 'main' }],
    log: [folder, {}],
    importTurns: [each([])],
    decide: ['approval:1', { answer: 'no' }],
    changeTask: ['task:1', { action: 'skip' }],
    archiveSession: [folder, 'main', true],
    countSessions: [{}],
    routeSmart: [folder, 'x'],
    why: [folder, 'main'],
    usage: ['model'],
    status: [folder, 0],
    events: [{}],
    narratives: [{ limit: 1 }],
    memories: [{ limit: 1 }],
    remember: [{ content: 'x' }],
    changeMemory: [1, {}],
    forgetMemory: [1],
    revokeGrant: [1],
    addUser: ['mia', { folder }],
    setUser: ['mia', { role: 'admin' }],
    removeUser: ['mia'],
    createToken: ['mia', { scopes: ['ask'] }],
    revokeToken: [1],
    audit: [{ limit: 1 }],
    exportMemories: [],
    importMemories: ['', { name: 'x', trust: false }],
    searchMemories: ['x', { limit: 1 }],
    searchFiles: ['x', { limit: 1 }],
    backup: ['/file'],
    setPersona: [{ id: 'ada', identity: { name: 'Ada', soul: '' }, permissions: { tools: {} } }],
    sessions: [],
    runs: [],
    plans: [],
    tasks: [],
    results: [],
    undo: ['abcdef'],
    cancel: ['abcdef', 'x'],
    retry: ['abcdef'],
  }

  test.each(Object.keys(routeTable) as RoutedMethod[])('%s', async (method) => {
    gateway = await newGateway([])
    const server = await serve(heddleWithEvents(heddle), {
      runFolder: join(gateway.runFolder, '..'),
      health: { pid: 1, version: '0', since: '2026-01-01T00:00:00.000Z' },
      clock: systemClock,
      onError: (error) => {
        throw error
      },
    })
    const call = async (token?: string) => {
      asked.length = 0
      const client = socketClient({ socket: server.path, ...(token !== undefined && { token }) }, systemClock)
      const args = arguments_[method] ?? [folder, 'main', 'main']
      const answer = (client[method] as (...args: unknown[]) => unknown)(...args)
      await (method.startsWith('export') ? collected(answer as AsyncIterable<string>) : answer)
      return new Set(asked.map(({ principal }) => principal))
    }
    try {
      expect(await call()).toEqual(new Set([owner]))
      expect(await call('mia-token')).toEqual(new Set([mia]))
      await expect(call('stolen')).rejects.toMatchObject({ code: 'unknown_token' })
      expect(asked).toEqual([])
    } finally {
      await server.stop()
    }
  })
})

/** The hub of the server follows events on its own; it is not a request. */
function heddleWithEvents(heddle: Heddle): Heddle {
  let isFirst = true
  return {
    ...heddle,
    as(principal) {
      if (!isFirst) return heddle.as(principal)
      isFirst = false
      const silent = async function* ({ signal }: { signal: AbortSignal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      }
      return { cursor: async () => null, follow: silent } as unknown as App
    },
  }
}
