import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { Config } from '../../src/config/config.ts'
import { ApiKey } from '../../src/config/key.ts'
import type { UserRole } from '../../src/domain/access/principal.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { systemClock } from '../../src/system.ts'
import { gate, scriptedModel } from '../../src/testing.ts'
import { testTool } from '../engine/engine.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { untilSo } from '../setup/until.ts'

const push = testTool('push', 'unsafe', () => 'pushed')
const never = new AbortController().signal

describe.each(databases)('rights of commands on %s', (database) => {
  const test = testOn(database)
  let gateway: TestGateway
  const held = gate()
  const users = new Map<string, App>()
  beforeAll(async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.content.includes('slowly')) return { text: 'late', gate: held }
      if (last?.role === 'user' && last.content === 'write') {
        return { calls: [{ name: 'push', input: { path: 'notes.md' } }] }
      }
      return { text: 'yes' }
    })
    const configure = ({ tools, models }: Config) => {
      tools.ask = ['push']
      const apiKey = new ApiKey('written in the file', 'sk-very-secret')
      models['paid'] = { provider: 'openai', model: 'gpt', apiKey, baseURL: 'https://me:pass-word@127.0.0.1/v1' }
    }
    gateway = await newGateway([model], { database, tools: [push], configure })
    const { app, server } = gateway
    const roles: [string, UserRole][] = [
      ['mia', 'public'],
      ['otto', 'public'],
      ['ada', 'admin'],
    ]
    for (const [id, role] of roles) {
      await app.addUser(id, { role, folder })
      const { token } = await app.createToken(id)
      users.set(id, daemonClient({ socket: server.path, token }, systemClock))
    }
  })
  afterAll(async () => {
    held.open()
    await gateway.remove()
  })

  const as = (id: string) => users.get(id) as App
  const send = (app: App, line: string, session = 'main') => app.command(folder, { session, line })
  const ask = async (app: App, content: string) => {
    const { itemId } = await app.submit(folder, { session: 'main', content })
    return app.answer(folder, itemId, never)
  }

  test('what a role may not do is refused before anything is read, and help does not list it', async () => {
    const before = await gateway.app.memories({ limit: 10 })
    for (const line of ['/memory add tea is hot', '/config get models', '/approve 1 1a2b3c4d', '/steer x', '/cron'])
      await expect(send(as('mia'), line)).rejects.toMatchObject({ code: 'forbidden' })
    expect(await gateway.app.memories({ limit: 10 })).toEqual(before)
    const names = (await as('mia').commands()).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['help', 'status', 'stop', 'whoami']))
    expect(names).not.toContain('config get')
    expect(await send(as('mia'), '/help config get')).toMatchObject({
      blocks: [{ kind: 'text', text: expect.stringContaining('there is no command "config get" for you') }],
    })
    expect(await send(as('mia'), '/whoami')).toMatchObject({
      blocks: [{ facts: expect.arrayContaining([{ name: 'you', value: 'user:mia' }]) }],
    })
  })

  test('a token limited to reading runs no command that changes something', async () => {
    const { token } = await gateway.app.createToken('ada', { scopes: ['read'] })
    const limited = daemonClient({ socket: gateway.server.path, token }, systemClock)
    expect(await send(limited, '/status')).toHaveProperty('blocks')
    await expect(send(limited, '/fork')).rejects.toMatchObject({ code: 'forbidden', remedy: /scope ask/ })
  })

  test('the same label is everyone’s own session, and what is another’s does not exist', async () => {
    await ask(as('mia'), 'one')
    await ask(as('otto'), 'two')
    const log = await send(as('mia'), '/log')
    expect(JSON.stringify(log)).toContain('one')
    expect(JSON.stringify(log)).not.toContain('two')
    const [turn] = await gateway.app.log(folder, { of: 'user:otto:main' })
    await expect(send(as('mia'), `/show turn:${turn?.id}`)).rejects.toMatchObject({ code: 'not_found' })
    await expect(send(as('mia'), `/fork turn:${turn?.id}`)).rejects.toMatchObject({ code: 'not_found' })
    expect(await send(as('mia'), '/switch main', 'side')).toMatchObject({ go: { session: 'user:mia:main' } })
    expect(JSON.stringify(await send(as('mia'), '/sessions'))).not.toContain('otto')
  })

  test('/stop stops what one may cancel, and nothing of another', async () => {
    await as('mia').submit(folder, { session: 'main', content: 'slowly' })
    await as('otto').submit(folder, { session: 'main', content: 'slowly' })
    const live = async () =>
      (await gateway.app.runs()).rows.filter(({ state }) => state === 'running').map(({ session }) => session)
    await untilSo(async () => (await live()).length === 2)
    await expect(send(as('otto'), '/stop', 'user:mia:main')).resolves.toMatchObject({
      blocks: [{ text: 'nothing is running' }],
    })
    expect(await send(as('mia'), '/stop')).toMatchObject({
      blocks: [{ text: expect.stringMatching(/^stopping run:/) }],
    })
    await untilSo(async () => (await live()).length === 1)
    expect(await live()).toEqual(['user:otto:main'])
    held.open()
    await untilSo(async () => (await live()).length === 0)
  })

  test('/approve needs the hash of what was shown, at every door', async () => {
    const { approvals = [] } = await ask(gateway.app, 'write')
    const [id] = approvals
    const { blocks } = await send(gateway.app, `/show approval:${id}`)
    const [, hash = ''] = /\/approve \d+ (\w+)/.exec(JSON.stringify(blocks)) ?? []
    for (const app of [gateway.app, gateway.door, as('ada')]) {
      await expect(send(app, `/approve ${id}`)).rejects.toMatchObject({ code: 'hash_missing' })
      await expect(send(app, `/approve ${id} ${hash.slice(0, 4)}`)).rejects.toMatchObject({ code: 'hash_missing' })
      await expect(send(app, `/approve ${id} 0123456789ab`)).rejects.toMatchObject({ code: 'approval_changed' })
    }
    expect(await gateway.app.approvals()).toHaveLength(1)
    expect(await send(as('ada'), `/approve ${id} ${hash}`)).toMatchObject({
      blocks: [{ text: `approval:${id} approved` }],
    })
    expect(await gateway.app.approvals()).toEqual([])
  })

  test('the audit names the command, with length and hash of its words, and never the words', async () => {
    const line = '/fork main a-secret-label'
    await send(as('mia'), line)
    await expect(send(as('mia'), '/memory add a secret')).rejects.toMatchObject({ code: 'forbidden' })
    const { rows } = await gateway.app.audit({ limit: 20 })
    const mine = rows.filter(({ principal }) => principal === 'user:mia')
    expect(mine.find(({ resource }) => resource === 'command:fork')).toMatchObject({
      action: 'turn.fork',
      outcome: 'ok',
      detail: expect.stringMatching(new RegExp(`^${line.length} characters, sha256 [0-9a-f]{64}$`)),
    })
    expect(mine.find(({ resource }) => resource === 'command:memory add')).toMatchObject({ outcome: 'forbidden' })
    expect(JSON.stringify(rows)).not.toContain('secret')
  })

  test('secrets are not in a setting', async () => {
    const shown = JSON.stringify(await send(gateway.door, '/config get models'))
    expect(shown).toContain('paid')
    for (const secret of ['sk-very-secret', 'pass-word']) expect(shown).not.toContain(secret)
    expect(JSON.stringify(await send(as('mia'), '/models'))).not.toMatch(/127\.0\.0\.1|secret/)
    await expect(send(gateway.app, '/config get databse')).rejects.toMatchObject({ remedy: 'did you mean database?' })
  })
})
