import { afterEach, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { Heddle } from '../../src/api/heddle.ts'
import { isOwner, type Principal } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { StreamItem } from '../../src/gateway/api.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { type Server, serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { folder, isEnd, newGateway, type TestGateway, toldUntil } from './gateway.ts'

let gateway: TestGateway
let server: Server | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
  await gateway.remove()
})

const never = new AbortController().signal
const mia: Principal = { kind: 'user', id: 'mia', role: 'public' }

/** A second server over the same Heddle, to which the token of `mia` is known for as long as `isKnown` says. */
async function serveMia(
  isKnown: () => boolean,
  onLook: () => void = () => undefined,
  granted: Partial<App> = {},
): Promise<Server> {
  const { app } = gateway
  await app.addUser('mia', { folder: '/tmp' })
  const own = app.as(mia)
  const herApp: App = {
    ...own,
    events(query) {
      onLook()
      return own.events(query)
    },
    ...granted,
  }
  const heddle: Heddle = {
    ...app,
    as: (principal) => (isOwner(principal) ? app.as(principal) : herApp),
    async identify(token) {
      if (token === undefined) return app.identify(token)
      if (isKnown()) return mia
      throw new HeddleError('unknown_token', 'no user has this token', 'ask the owner for one')
    },
  }
  server = await serve(heddle, {
    runFolder: `${gateway.runFolder}/..`,
    health: { pid: 1, version: '0', since: '2026-01-01T00:00:00.000Z' },
    clock: systemClock,
    onError: () => undefined,
  })
  return server
}

test('a follower with a token gets the events and the text of its own runs, and nothing else', async () => {
  const holds = { mia: gate(), other: gate() }
  const model = scriptedModel(({ messages }) => {
    const hold = messages.at(-1)?.content.includes('hers') ? holds.mia : holds.other
    return { pieces: ['one ', hold, 'two'] }
  })
  gateway = await newGateway([model])
  const { path } = await serveMia(() => true)
  const herClient = daemonClient({ socket: path, token: 'mia-token' }, systemClock)
  const other = await gateway.door.submit(folder, { session: 'other', content: 'not for mia' })
  const own = await herClient.submit('/tmp', { session: 'main', content: 'hers' })
  await Promise.all([holds.mia.reached, holds.other.reached])
  const text = Promise.withResolvers<void>()
  const told = toldUntil(herClient, {}, (item) => {
    if (item.kind === 'live') text.resolve()
    return isEnd(item)
  })
  await text.promise
  holds.other.open()
  await gateway.door.answer(folder, other.itemId, never)
  holds.mia.open()
  await gateway.door.answer(folder, own.itemId, never)
  const heard = await told
  const isAboutOther = (item: StreamItem) =>
    item.kind === 'live' ? item.delta.runId !== own.runId : JSON.stringify(item.event).includes(other.runId ?? '')
  expect(heard.filter(isAboutOther)).toEqual([])
  expect(heard.at(-1)).toMatchObject({ event: { kind: 'run.ended', subject: `run:${own.runId}` } })
})

test('followers with tokens share what was read once for all: none looks for itself once it has caught up', async () => {
  gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))])
  let looks = 0
  const { path } = await serveMia(
    () => true,
    () => void looks++,
  )
  const herClient = daemonClient({ socket: path, token: 'mia-token' }, systemClock)
  const ask = async (client: typeof herClient, at: string, content: string) => {
    const { itemId } = await client.submit(at, { session: 'main', content })
    return client.answer(at, itemId, never)
  }
  const after = (await gateway.app.cursor()) ?? undefined
  const enough = new AbortController()
  const ends: string[] = []
  const follow = async () => {
    const query = { signal: enough.signal, ...(after !== undefined && { after }) }
    for await (const item of herClient.stream(query))
      if (isEnd(item) && item.kind === 'event') ends.push(item.event.subject)
  }
  const following = Array.from({ length: 5 }, follow)
  // Two listeners of each follower, and those of two hubs.
  await gateway.untilListeners(7)
  const runs: string[] = []
  for (const word of ['one', 'two', 'three']) {
    await ask(gateway.door, folder, `not hers ${word}`)
    runs.push(`run:${(await ask(herClient, '/tmp', word)).runId}`)
  }
  await untilSo(() => ends.length === 15)
  enough.abort()
  await Promise.all(following)
  expect(ends.toSorted()).toEqual(runs.flatMap((run) => Array(5).fill(run)).toSorted())
  // One each, to check its rights, before it begins.
  expect(looks).toBe(5)
})

test('the stream of a revoked token ends, and says why', async () => {
  let isKnown = true
  gateway = await newGateway([])
  const { path } = await serveMia(() => isKnown)
  const stream = daemonClient({ socket: path, token: 'mia-token' }, systemClock).stream({ signal: never })
  const next = stream[Symbol.asyncIterator]().next()
  await gateway.untilListeners(3)
  isKnown = false
  await expect(next).rejects.toMatchObject({ code: 'unknown_token' })
})

test('a wait for an answer ends when its token is revoked, and tells nothing', async () => {
  let isKnown = true
  const hold = gate()
  gateway = await newGateway([scriptedModel([{ pieces: ['a ', hold, 'secret'] }])])
  const answer: App['answer'] = (...wait) => {
    isKnown = false
    return gateway.app.answer(...wait)
  }
  const { path } = await serveMia(() => isKnown, undefined, { answer })
  const client = daemonClient({ socket: path, token: 'mia-token' }, systemClock)
  const { itemId } = await gateway.app.submit(folder, { session: 'main', content: 'tell me' })
  await expect(client.answer(folder, itemId, never)).rejects.toMatchObject({ code: 'unknown_token' })
  hold.open()
})

test('an export ends when its token is revoked, and the part that came is not taken for the whole', async () => {
  let isKnown = true
  const refused = Promise.withResolvers<void>()
  gateway = await newGateway([])
  async function* exportTurns() {
    yield '{"n":1}'
    isKnown = false
    await refused.promise
    for (;;) yield '{"n":2}'
  }
  const { path } = await serveMia(
    () => {
      if (!isKnown) refused.resolve()
      return isKnown
    },
    undefined,
    { exportTurns },
  )
  const client = daemonClient({ socket: path, token: 'mia-token' }, systemClock)
  const read = async () => {
    for await (const _ of client.exportTurns(folder));
  }
  await expect(read()).rejects.toThrow()
})
