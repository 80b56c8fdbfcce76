import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

const append = (question: string, answer: string, session = 'main') =>
  heddle.run('append', '--user', question, '--assistant', answer, '--session', session)

test('search prints what it found, with the words between stars, and says what to do when there is nothing', async () => {
  expect((await heddle.run('search', 'port')).out).toBe(
    'nothing matches    try other words; heddle memory search looks at memories and notes\n',
  )
  await append('Which port has staging?', 'It is 8443.')
  await append('And \u001b[2J production?', 'The port is 443.', 'other')
  const { out } = await heddle.run('search', 'which', 'port?')
  expect(out.replaceAll(/turn:\S{6}/g, 'turn:ID').replaceAll(/\d+s ago|now/g, 'TIME')).toBe(
    [
      'turn:ID  TIME  (other)',
      '    The *port* is 443.',
      'turn:ID  TIME  (main)',
      '    Which *port* has staging?',
      '',
    ].join('\n'),
  )
  expect((await heddle.run('search', 'production')).out).toContain('\\u{1b}[2J *production*?')
  const page = await heddle.json<{ hits: { ref: string }[]; next?: string }>('search', 'port', '--limit', '1')
  expect(page).toMatchObject({ hits: [{ ref: expect.stringMatching(/^turn:/), rank: 1 }], next: expect.any(String) })
  const after = await heddle.json<{ hits: unknown[]; next?: string }>('search', 'port', '--after', page.next ?? '')
  expect([after.hits.length, after.next]).toEqual([1, undefined])
  expect((await heddle.run('search', 'port', '--limit', '1')).out).toContain('… more    --limit 0 shows all')
  expect((await heddle.run('search', 'port', '--session', 'nosuch')).code).toBe(1)
  expect(await heddle.run('search', 'port', ' ')).toMatchObject({
    code: 2,
    err: expect.stringContaining('leave it out'),
  })
})

test.each(['append.after_commit', 'index.before_commit', 'index.after_commit'])(
  'what was stored is found by the next search after a kill at %s',
  async (point) => {
    const env = { HEDDLE_CRASH_AT: `${point}#1` }
    if (point === 'append.after_commit') {
      const killed = await heddle.runWith({ env }, 'append', '--user', 'q', '--assistant', 'the crimson vessel')
      expect(killed.signal).toBe('SIGKILL')
    } else {
      await append('q', 'the crimson vessel')
      expect((await heddle.runWith({ env }, 'search', 'crimson')).signal).toBe('SIGKILL')
    }
    expect(await heddle.json('search', 'crimson')).toMatchObject({ hits: [{ passage: 'the crimson vessel' }] })
  },
)

test('a restored home finds what the backup holds', async () => {
  await append('q', 'the crimson vessel')
  await heddle.json('search', 'crimson')
  expect((await heddle.run('backup', 'all.backup')).code).toBe(0)
  await append('q', 'a later crimson one')
  expect((await heddle.run('restore', 'all.backup', '--yes')).code).toBe(0)
  expect(await heddle.json('search', 'crimson')).toMatchObject({ hits: [{ passage: 'the crimson vessel' }] })
})
