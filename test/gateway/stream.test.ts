import { type ClientRequest, request } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import { owner } from '../../src/domain/access/principal.ts'
import type { Event } from '../../src/domain/event.ts'
import { ModelFailure } from '../../src/domain/model.ts'
import type { DroppedFollower, StreamItem } from '../../src/gateway/api.ts'
import { EventHub } from '../../src/gateway/event-hub.ts'
import { readSseMessages } from '../../src/gateway/event-reader.ts'
import { Follower } from '../../src/gateway/follower.ts'
import { systemClock } from '../../src/system.ts'
import { gate, manualClock, scriptedModel } from '../../src/testing.ts'
import { eventsIn, folder, isEnd, newGateway, type TestGateway, toldUntil } from './gateway.ts'

let gateway: TestGateway
const clients: ClientRequest[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await gateway.remove()
})

const never = new AbortController().signal
const say = (content: string) => gateway.door.submit(folder, { session: 'main', content })
const spoken = (told: StreamItem[]) => told.flatMap((each) => (each.kind === 'live' ? [each.delta] : []))

/** Frees what is not used any more, so that what is left is used. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** A connection whose owner decides when to read. */
function connect(path: string): Promise<import('node:http').IncomingMessage> {
  return new Promise((resolve, reject) => {
    const client = request({ socketPath: gateway.server.path, path, agent: false })
    clients.push(client)
    client.on('error', () => undefined)
    client.once('response', resolve)
    client.once('close', () => reject(new Error('closed')))
    client.end()
  })
}

test('a follower hears every event once and in order, and the words while they are said', async () => {
  gateway = await newGateway([scriptedModel([{ pieces: ['good ', 'day'] }])])
  const heard = toldUntil(gateway.door, {}, isEnd)
  await gateway.untilListeners(2)
  const { runId } = await say('hello')
  const told = await heard
  expect(eventsIn(told)).toEqual(await gateway.app.events({}))
  const text = spoken(told).map((sign) => ('text' in sign ? sign.text : ''))
  expect(text.join('')).toBe('good day')
  expect(spoken(told).every((sign) => sign.runId === runId)).toBe(true)
})

test('words of a call that failed are taken back', async () => {
  const busy = new ModelFailure('overloaded', 'too busy', 'wait', { retry: 'later', retryAfter: 1 })
  gateway = await newGateway([scriptedModel([{ pieces: ['half'], fail: busy }, { text: 'whole' }])])
  const heard = toldUntil(gateway.door, {}, isEnd)
  await gateway.untilListeners(2)
  await say('hello')
  expect(spoken(await heard).map(({ kind, call }) => [kind, call])).toEqual([
    ['text', 1],
    ['reset', 1],
    ['text', 2],
  ])
})

test('who begins to listen in the middle hears all that was said so far, and nothing of runs that have ended', async () => {
  const hold = gate()
  gateway = await newGateway([
    scriptedModel((_, n) => (n === 1 ? { text: 'done' } : { pieces: ['half ', 'of it', hold, ', and the rest'] })),
  ])
  const first = await say('one')
  await gateway.door.answer(folder, first.itemId, never)
  const { runId } = await say('two')
  await hold.reached
  const { app } = gateway
  const after = (await app.cursor()) ?? ''
  const heard = toldUntil(gateway.door, { after }, (told) => {
    if (told.kind === 'live' && told.delta.kind === 'whole') hold.open()
    return isEnd(told)
  })
  expect(spoken(await heard)).toEqual([
    { kind: 'whole', runId, call: 1, text: 'half of it' },
    { kind: 'text', runId, call: 1, text: ', and the rest' },
  ])
})

test('a follower of one run hears of no other', async () => {
  gateway = await newGateway([scriptedModel((_, n) => ({ text: `${n}` }))])
  const [one, two] = [await say('one'), await gateway.door.submit(folder, { session: 'other', content: 'two' })]
  await gateway.door.answer(folder, one.itemId, never)
  await gateway.door.answer(folder, two.itemId, never)
  const told = await toldUntil(gateway.door, { run: two.runId ?? '' }, isEnd)
  expect(eventsIn(told).map(({ kind }) => kind)).toEqual(['run.started', 'run.ended'])
})

test('a follower that does not read is dropped with its cursor, slows nobody, and misses nothing when it comes back', async () => {
  const flood = Array.from({ length: 500 }, () => 'x'.repeat(10_000))
  gateway = await newGateway([scriptedModel((_, n) => (n === 2 ? { pieces: flood } : { text: `${n}` }))])
  const slow = await connect('/v1/events')
  slow.pause()
  const runs = []
  for (const content of ['one', 'two', 'three']) runs.push(await say(content))
  // Nobody reads, and everything is answered.
  for (const { itemId } of runs) await gateway.door.answer(folder, itemId, never)

  const got: Event[] = []
  let dropped: DroppedFollower | undefined
  for await (const { event, data } of readSseMessages(slow)) {
    if (event === 'message') got.push(JSON.parse(data))
    if (event === 'dropped') dropped = JSON.parse(data)
  }
  expect(dropped?.cursor).toBe(got.at(-1)?.cursor ?? null)
  const all = await gateway.app.events({})
  const rest = await toldUntil(gateway.door, dropped?.cursor ? { after: dropped.cursor } : {}, (told) =>
    told.kind === 'event' ? told.event.cursor === all.at(-1)?.cursor : false,
  )
  expect([...got, ...eventsIn(rest)]).toEqual(all)
})

test('two hundred clients that do not read take little memory, and each is dropped with a cursor that it goes on from', async () => {
  const text = 'x'.repeat(10_000)
  const flood = Array.from({ length: 400 }, () => text)
  gateway = await newGateway([scriptedModel((_, n) => (n === 1 ? { pieces: flood } : { text: `${n}` }))])
  const slow = await Promise.all(Array.from({ length: 200 }, () => connect('/v1/events')))
  for (const client of slow) client.pause()
  const memory = () => {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = memory()
  let most = 0
  for (const content of ['one', 'two']) {
    const { itemId } = await say(content)
    await gateway.door.answer(folder, itemId, never)
    most = Math.max(most, memory() - before)
  }
  // What was sent to all of them is 800 MB.
  expect(most / 1024 / 1024).toBeLessThan(150)
  const all = await gateway.app.events({})
  for (const client of slow) {
    const got: Event[] = []
    let dropped: DroppedFollower | undefined
    for await (const { event, data } of readSseMessages(client)) {
      if (event === 'message') got.push(JSON.parse(data))
      if (event === 'dropped') dropped = JSON.parse(data)
    }
    expect(dropped).toEqual({ cursor: got.at(-1)?.cursor ?? null })
    expect(got).toEqual(all.slice(0, got.length))
  }
  await gateway.untilListeners(1)
})

test('our own reader, slow as it may be, sees no gap and nothing twice', async () => {
  const flood = Array.from({ length: 500 }, () => 'x'.repeat(10_000))
  gateway = await newGateway([scriptedModel((_, n) => (n === 1 ? { pieces: flood } : { text: `${n}` }))])
  const first = await say('one')
  const got: Event[] = []
  const enough = new AbortController()
  for await (const told of gateway.door.stream({ signal: enough.signal })) {
    if (told.kind !== 'event') continue
    got.push(told.event)
    // Takes the first event only when everything has been said.
    if (got.length === 1) {
      await gateway.door.answer(folder, first.itemId, never)
      await say('two')
    }
    if (got.filter(({ kind }) => kind === 'run.ended').length === 2) enough.abort()
  }
  expect(got).toEqual(await gateway.app.events({}))
})

test('one that takes nothing between two beats is dropped, and let go when it does not even take that', async () => {
  gateway = await newGateway([scriptedModel([{ text: 'x' }])])
  const clock = manualClock()
  const patience = { messages: 10, characters: 1000, heartbeatEvery: 1000 }
  const { itemId } = await say('one')
  await gateway.door.answer(folder, itemId, never)
  const around = { heddle: gateway.app, hub: await EventHub.open(gateway.app, systemClock), live: { whole: () => [] } }
  const follower = new Follower(gateway.app, around, { principal: owner }, { clock, followerLimits: patience })
  const first = await follower.next()
  expect(first?.kind).toBe('event')
  // The rest of the events waits: one beat to see that nothing was taken, one to act on it.
  await gateway.untilListeners(2)
  for (let beat = 0; beat < 2; beat++) await clock.advance(1000)
  const rest = []
  for (let next = await follower.next(); next; next = await follower.next()) rest.push(next)
  const last = rest.at(-2)
  expect(rest.at(-1)).toEqual({ kind: 'dropped', last: { cursor: last?.kind === 'event' ? last.event.cursor : '' } })
  follower.leave()

  const dead = new Follower(gateway.app, around, { principal: owner }, { clock, followerLimits: patience })
  await dead.next()
  for (let beat = 0; beat < 3; beat++) await clock.advance(1000)
  expect(dead.gone.aborted).toBe(true)
  around.hub.stop()
})

test('an idle follower is sent signs of life', async () => {
  gateway = await newGateway([])
  const clock = manualClock()
  const around = { heddle: gateway.app, hub: await EventHub.open(gateway.app, systemClock), live: { whole: () => [] } }
  const patience = { messages: 10, characters: 1000, heartbeatEvery: 1000 }
  const follower = new Follower(gateway.app, around, { principal: owner }, { clock, followerLimits: patience })
  const beat = follower.next()
  await clock.advance(1000)
  expect(await beat).toEqual({ kind: 'beat' })
  follower.leave()
  around.hub.stop()
})

test('many followers, each from a place of its own, all hear the same', async () => {
  gateway = await newGateway([scriptedModel((_, n) => ({ text: `${n}` }))])
  for (let n = 0; n < 3; n++) await gateway.door.answer(folder, (await say(`${n}`)).itemId, never)
  const old = await gateway.app.events({})
  const starts = Array.from({ length: 50 }, (_, n) => n % old.length)
  const hearing = starts.map((start) =>
    toldUntil(gateway.door, { after: old[start]?.cursor ?? '' }, (told) =>
      told.kind === 'event' ? told.event.payload['session'] === 'last' && told.event.kind === 'run.ended' : false,
    ),
  )
  await gateway.untilListeners(1 + starts.length)
  await gateway.door.submit(folder, { session: 'last', content: 'x' })
  const heard = (await Promise.all(hearing)).map(eventsIn)
  const all = await gateway.app.events({})
  const until = all.findIndex(({ kind, payload }) => kind === 'run.ended' && payload['session'] === 'last') + 1
  expect(heard).toEqual(starts.map((start) => all.slice(start + 1, until)))
})

test('a client that goes away in the middle leaves no listener behind', async () => {
  gateway = await newGateway([])
  const before = gateway.listeners
  const followers = await Promise.all(Array.from({ length: 5 }, () => connect('/v1/events')))
  await gateway.untilListeners(before + 5)
  for (const follower of followers) follower.destroy()
  await gateway.untilListeners(before)
})

test('events that are no longer kept end the stream with the reason', async () => {
  gateway = await newGateway([scriptedModel([{ text: 'x' }])])
  await gateway.door.answer(folder, (await say('one')).itemId, never)
  const [first] = await gateway.app.events({ limit: 1 })
  const [home] = Buffer.from(first?.cursor ?? '', 'base64url')
    .toString()
    .split('.')
  const other = Buffer.from(`${home}.7.999999`).toString('base64url')
  const listening = toldUntil(gateway.door, { after: other }, isEnd)
  await expect(listening).rejects.toMatchObject({ code: 'cursor_expired', remedy: expect.stringContaining('cursor') })
})
