import { afterEach, describe, expect } from 'vitest'
import type { Principal } from '../../src/domain/access/principal.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { archive, rename, setPersona } from '../../src/engine/turns/sessions.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { folder, newEngine, type TestEngine } from './engine.ts'

const draft = { query: [{ content: 'hello' }], response: { content: 'good day' } }
const atlas = { id: 'atlas', identity: { name: 'Atlas', soul: '' }, permissions: { tools: {} } }

describe.each(databases)('the target of an input on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  afterEach(() => under.remove())
  async function open(): Promise<{ first: string; second: string }> {
    under = await newEngine(
      database,
      scriptedModel(() => ({ text: 'fine' })),
    )
    const first = await append(under.engine, { folder, label: 'main', draft })
    const second = await append(under.engine, { folder, label: 'main', draft })
    return { first: first.turnId, second: second.turnId }
  }

  test('session:LABEL is the session of that label, and a new one starts it', async () => {
    await open()
    expect((await under.say('more', { label: 'session:main' })).session).toMatchObject({ label: 'main' })
    expect((await under.say('more', { label: 'session:new' })).session).toMatchObject({
      label: 'new',
      headTurnId: null,
    })
    expect(await append(under.engine, { folder, label: 'session:hand', draft })).toMatchObject({ depth: 1 })
  })

  test('turn:ID is the session whose last turn it is, by any part of its id', async () => {
    const { second } = await open()
    expect((await under.say('more', { label: `turn:${second.slice(-6)}` })).session).toMatchObject({ label: 'main' })
    // Its run has not ended: the next message waits behind it and does not fork.
    expect((await under.say('more', { label: `turn:${second}` })).session).toMatchObject({ label: 'main' })
  })

  test('turn:ID is the session that wrote it, not a fork that has written nothing yet', async () => {
    const { second } = await open()
    await fork(under.engine, { folder, turnId: second, label: 'copy' })
    expect(await append(under.engine, { folder, label: `turn:${second}`, draft })).toMatchObject({
      session: { label: 'main' },
      depth: 3,
    })
    // Now it is only the head of the fork.
    expect(await append(under.engine, { folder, label: `turn:${second}`, draft })).toMatchObject({
      session: { label: 'copy' },
      depth: 3,
    })
  })

  test('a turn that others follow, or of another folder, starts a new session there', async () => {
    const { first, second } = await open()
    const label = `fork-${first.slice(-6)}`
    expect((await under.say('more', { label: `turn:${first}` })).session).toMatchObject({ label, headTurnId: first })
    expect((await under.say('more', { label: `turn:${first}` })).session).toMatchObject({ label: `${label}` })
    const elsewhere = await under.say('more', { label: `turn:${second}`, folder: '/there' })
    expect(elsewhere.session).toMatchObject({ folder: '/there', headTurnId: second })
  })

  test("a user's turn:ID and persona:ID lead to sessions of that user", async () => {
    const { second } = await open()
    await setPersona(under.engine, atlas)
    const mia: Principal = { kind: 'user', id: 'mia', role: 'public' }
    const forked = await append(under.engine, { folder, label: `turn:${second}`, draft, principal: mia })
    expect(forked.session).toMatchObject({ label: `user:mia:fork-${second.slice(-6)}`, principalId: 'user:mia' })
    const own = await append(under.engine, { folder, label: 'persona:atlas', draft, principal: mia })
    expect(own.session).toMatchObject({ label: 'user:mia:atlas:main', personaId: 'atlas', principalId: 'user:mia' })
  })

  test('a persona that is named beside it is that of a new session; one that exists must have it', async () => {
    const { first, second } = await open()
    await setPersona(under.engine, atlas)
    expect((await under.say('x', { label: 'new', personaId: 'atlas' })).session).toMatchObject({ personaId: 'atlas' })
    await expect(under.say('x', { label: 'main', personaId: 'atlas' })).rejects.toMatchObject({
      code: 'persona_differs',
      remedy: `heddle fork turn:${second.slice(-6)} --persona atlas`,
    })
    expect((await under.say('x', { label: `turn:${second}`, personaId: 'atlas' })).session).toMatchObject({
      label: `fork-${second.slice(-6)}`,
      headTurnId: second,
      personaId: 'atlas',
    })
    const at = { label: 'there', personaId: 'atlas', parentTurnId: first }
    expect((await under.say('x', at)).session).toMatchObject({ headTurnId: first, personaId: 'atlas' })
    await expect(under.say('x', { label: 'new', personaId: 'nobody' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('what is no session is refused with the forms that are', async () => {
    const { first } = await open()
    await expect(under.say('x', { label: 'run:abc' })).rejects.toMatchObject({ code: 'wrong_kind' })
    await expect(under.say('x', { label: 'turn:zzzzzz' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(under.say('x', { label: `turn:${first}`, parentTurnId: first })).rejects.toMatchObject({
      code: 'bad_target',
    })
  })

  test('renaming and archiving take a turn for the session that it is the head of', async () => {
    const { first, second } = await open()
    expect(await rename(under.engine, folder, `turn:${second}`, 'other')).toMatchObject({ label: 'other' })
    expect(await archive(under.engine, folder, `turn:${second}`, true)).toMatchObject({ label: 'other' })
    await expect(archive(under.engine, folder, `turn:${first}`, true)).rejects.toMatchObject({ code: 'not_head' })
    await expect(archive(under.engine, folder, 'run:other', true)).rejects.toMatchObject({ code: 'wrong_kind' })
  })
})
