import { afterEach, describe, expect } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { Answer } from '../../src/domain/approval.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { sessionsSpawn } from '../../src/engine/plans/spawn-tool.ts'
import { decide } from '../../src/engine/run/approvals/decide.ts'
import { isTyped } from '../../src/engine/run/approvals/typed-values.ts'
import { listApprovals } from '../../src/engine/views/questions.ts'
import { webFetch } from '../../src/tools/web-fetch.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { attackersModel, carry, type Plan } from './attackers-model.ts'
import { newEngine, type TestEngine } from './engine.ts'

const visit = (url: string): Plan[number] => ({ name: 'web_fetch', input: { url } })
const a = 'https://a.example/one'

describe.each(databases)('a call that sends elsewhere on %s', (database) => {
  const test = testOn(database)
  let under: TestEngine
  let fetched: string[]
  afterEach(async () => {
    expect(under.troubles).toEqual([])
    await under.remove()
  })

  const begin = async ({ ask = [] as string[], allowedOrigins = [] as string[] } = {}) => {
    fetched = []
    const tools = [webFetch as Tool]
    under = await newEngine(database, attackersModel(200_000), { tools, ask })
    const spawn = sessionsSpawn(under.engine, { maxChildren: 5, allowAgents: [], shareMode: 'handoff' })
    tools.push(spawn)
    ;(under.engine.tools as Map<string, Tool>).set(spawn.name, spawn)
    under.engine.allowedOrigins = allowedOrigins
    under.engine.network = async (url) => {
      fetched.push(url)
      return { url, status: 200, contentType: 'text/plain', body: Buffer.from('news'), isCut: false }
    }
    await under.work()
  }
  const question = () =>
    under.until(async (rows) => {
      const [open] = await listApprovals(rows)
      return open
    })
  const answer = ({ id, hash }: ApprovalView, word: Answer) => decide(under.engine, id, { answer: word, hash })
  /** A plan that the model follows without that the user typed the addresses. */
  const follow = (...calls: Plan) => carry(...calls).replaceAll('https://', '\\u0068ttps://')

  test('asks once the run has read a page, and the question names what it has read', async () => {
    await begin()
    await under.say(follow(visit(a), visit('https://b.example/?q=secret')))
    const asked = await question()
    expect(fetched).toEqual([a])
    expect(asked).toMatchObject({
      tool: 'web_fetch',
      trusted: false,
      sources: [`url:${a}`],
      covers: 'web_fetch of any page of https://b.example',
    })
    expect(asked.reason).toContain('an address that you did not type, and this run has read untrusted content')
    await answer(asked, 'once')
    await under.turns(1)
    expect(fetched).toEqual([a, 'https://b.example/?q=secret'])
  })

  test('is not asked about where the user typed the address, in this message or an earlier one, or for a child', async () => {
    await begin()
    const b = 'https://b.example/two'
    await under.say(`compare ${a} with (${b}).`)
    await under.turns(1)
    await under.say(follow(visit(a), visit(b)))
    await under.turns(2)
    expect(fetched).toEqual([a, b])
    await under.say(carry({ name: 'sessions_spawn', input: { task: follow(visit(a), visit(b)) } }))
    await under.turns(4)
    expect(fetched).toEqual([a, b, a, b])
  })

  test('needs the whole address: another path, query or host is not what was typed', async () => {
    const said = ['look at https://a.example/one?x=1, please', 'and <b.example>']
    const typed = [
      'https://a.example/one?x=1',
      'http://a.example/one?x=1#part',
      'https://b.example/',
      'https://B.example',
    ]
    const others = [
      ...['https://a.example/one', 'https://a.example/one?x=1&q=secret', 'https://a.example/one?x=12'],
      ...['https://a.example.evil.example/one?x=1', 'https://b.example/secret', 'https://secret.b.example/', 'look'],
    ]
    expect(typed.filter((url) => !isTyped(url, said))).toEqual([])
    expect(others.filter((url) => isTyped(url, said))).toEqual(['look'])
    await begin()
  })

  test('does not take for typed what somebody untrusted wrote', async () => {
    await begin()
    const trust = { integrity: 'untrusted' as const, sources: ['mail:1'] }
    await under.say(carry(visit(a)), { trust })
    expect(await question()).toMatchObject({ sources: ['mail:1'] })
    expect(fetched).toEqual([])
  })

  test('goes without a question to a server that the owner named in the configuration', async () => {
    await begin({ allowedOrigins: ['https://wiki.example'] })
    await under.say(follow(visit(a), visit('https://wiki.example/any?page=1')))
    await under.turns(1)
    expect(fetched).toHaveLength(2)
  })

  test('follows redirects to other sites only where the user typed the address', async () => {
    await begin({ allowedOrigins: ['https://wiki.example'] })
    const limits: unknown[] = []
    const { network } = under.engine
    under.engine.network = (url, signal, limit) => {
      limits.push([url, limit?.staysOnHost ?? false])
      return network(url, signal)
    }
    const [wiki, b] = ['https://wiki.example/go?to=https://evil.example/secret', 'https://b.example/']
    await under.say(`look at ${a}`)
    await under.turns(1)
    await under.say(follow(visit(wiki), visit(a), visit(wiki), visit(b), visit(`${b}2`)))
    await answer(await question(), 'session')
    await under.turns(2)
    expect(limits).toEqual([
      [wiki, false],
      [a, false],
      [wiki, true],
      [b, false],
      [`${b}2`, true],
    ])
  })

  test('is covered by a grant whose question named the sources, for the same site, and by no other', async () => {
    await begin({ ask: ['web_fetch'] })
    const site = (page: number) => visit(`https://b.example/${page}`)
    await under.say(follow(site(1)))
    const first = await question()
    expect(first.trusted).toBe(true)
    await answer(first, 'session')
    await under.turns(1)
    // The run has read the site by now: a grant that was given before it had does not hold.
    await under.say(follow(site(2), site(3), visit('https://c.example/')))
    const second = await question()
    expect(second).toMatchObject({ trusted: false, input: { url: 'https://b.example/2' } })
    await answer(second, 'session')
    const third = await under.until(async (rows) => (await listApprovals(rows)).find(({ id }) => id !== second.id))
    expect(third.input).toEqual({ url: 'https://c.example/' })
    expect(fetched).toEqual([1, 2, 3].map((page) => `https://b.example/${page}`))
  })

  test('is approved with its sources: the same call after other sources is another question', async () => {
    await begin()
    const hashes: string[] = []
    for (const [at, source] of [a, 'https://d.example/'].entries()) {
      const label = `session${at}`
      await under.say(follow(visit(source), visit('https://b.example/')), { label })
      const open = await under.until(async (rows) => {
        const all = await listApprovals(rows)
        return all.length > at && all
      })
      hashes.push(open.at(-1)?.hash ?? '')
    }
    expect(new Set(hashes).size).toBe(2)
  })
})
