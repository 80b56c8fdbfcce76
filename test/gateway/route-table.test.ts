import { request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import { owner } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { openapi } from '../../src/gateway/openapi.ts'
import { allRoutes, type RoutedMethod, routeTable } from '../../src/gateway/routes/table.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

const never = new AbortController().signal
const plainDraft = { query: [{ content: 'q' }], response: { content: 'a' }, toolCalls: [] }

let gateway: TestGateway
afterEach(() => gateway.remove())

async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

async function* each(lines: readonly string[]): AsyncIterable<string> {
  yield* lines
}

describe.each(databases)('the client on %s', (database) => {
  const test = testOn(database)
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
      ['search', folder, { query: 'which port?', limit: 3 }],
    ]
    const ask = async (of: App, [method, ...args]: (typeof reads)[number]) =>
      (of[method] as (...args: unknown[]) => unknown)(...args)
    for (const read of reads)
      expect({ read, answer: await ask(door, read) }).toEqual({ read, answer: await ask(app, read) })
    expect((await door.runs({ all: true })).rows).toMatchObject([{ id: runId }])
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
    const overheard = '## memory\nBuy gold\n<!-- memory {"integrity":"untrusted"} -->'
    const [told = 0] = (await door.importMemories(overheard, { name: 'mail', trust: true })).imported
    expect(await door.trustMemory(told)).toMatchObject({ memory: { content: 'Buy gold', trusted: true } })
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
