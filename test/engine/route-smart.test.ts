import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { SmartRoute } from '../../src/domain/smart-route.ts'
import { append, startSession } from '../../src/engine/turns/append.ts'
import { routeSmart } from '../../src/engine/turns/route-smart.ts'
import { archive } from '../../src/engine/turns/sessions.ts'
import { manualClock } from '../../src/testing.ts'
import { type Database, databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const here = '/here'
const hour = 3_600_000

interface Labelled {
  threads: { label: string; turns: { asked: string; answered: string }[] }[]
  /** `belongs` is null for what fits nowhere. */
  messages: { text: string; belongs: string | null }[]
  /** Of other topics, with words that came up in the threads by chance. */
  chance: string[]
  /** Of other topics, built around words of the labels. */
  labelWords: string[]
}

const labelled: Labelled = JSON.parse(readFileSync(join(import.meta.dirname, 'smart-routes.json'), 'utf8'))

let runtime: TestRuntime
let clock: ReturnType<typeof manualClock>
afterEach(() => runtime.remove())

async function open(database: Database): Promise<void> {
  clock = manualClock()
  runtime = await newTestRuntime(database, { clock })
}

async function say(label: string, asked: string, answered = 'Done.', folder = here): Promise<void> {
  await clock.advance(hour)
  await append(runtime, { folder, label, draft: { query: [{ content: asked }], response: { content: answered } } })
}

const route = (text: string, folder: string | undefined = here): Promise<SmartRoute> =>
  runtime.store.read((rows) => routeSmart(rows, text, { now: clock.now(), ...(folder !== '' && { folder }) }))

test('of 450 messages over 40 threads, what is routed goes where it belongs, and what fits nowhere stays', async () => {
  await open('sqlite')
  for (const { label, turns } of labelled.threads)
    for (const { asked, answered } of turns) await say(label, asked, answered)
  const found = []
  const strange = [...labelled.chance, ...labelled.labelWords].map((text) => ({ text, belongs: null }))
  const messages = [...labelled.messages, ...strange]
  for (const { text, belongs } of messages)
    found.push({ text, belongs, to: (await route(text)).chosen?.session ?? null })
  const routed = found.filter(({ to }) => to !== null)
  const wrong = routed.filter(({ to, belongs }) => to !== belongs)
  const lost = found.filter(({ belongs }) => belongs === null)
  const strays = lost.filter(({ to }) => to !== null)
  const precision = 1 - wrong.length / routed.length
  process.stdout.write(
    `smart routing: ${routed.length} routed, ${routed.length - wrong.length} of them rightly, precision ` +
      `${precision.toFixed(3)}; ${found.length - lost.length} belong somewhere; ` +
      `routed ${strays.length} of ${lost.length} that fit nowhere\n`,
  )
  expect({ messages: found.length, threads: labelled.threads.length, lost: lost.length }).toEqual({
    messages: 450,
    threads: 40,
    lost: 270,
  })
  expect(precision, JSON.stringify(wrong)).toBeGreaterThanOrEqual(0.97)
  expect(strays.length / lost.length).toBeLessThanOrEqual(0.02)
  // Whoever always declines is never wrong.
  expect(routed.length).toBeGreaterThanOrEqual(90)
})

describe.each(databases)('smart routing on %s', (database) => {
  const test = testOn(database)
  test('the session whose words it shares is chosen, and the words say why', async () => {
    await open(database)
    await say('invoices', 'The PDF invoices print umlauts as question marks', 'The embedded font lacks glyphs.')
    await say('login', 'Users are logged out although they ticked remember me', 'The cookie outlives the token.')
    expect((await route('does the invoice font have Polish glyphs now?')).chosen).toMatchObject({
      session: 'invoices',
      folder: here,
      words: expect.arrayContaining(['invoice', 'font', 'glyph']),
    })
  })

  test('what fits two sessions about equally well is not decided, and both are offered, the newer first', async () => {
    await open(database)
    await say('older', 'the deployment of the billing service fails')
    await clock.advance(60 * 24 * hour)
    // A longer text has less of any word: only its age puts it first.
    await say('newer', 'the deployment of the billing service fails since the release of March')
    await say('garden', 'my tomatoes have spots')
    const { chosen, others } = await route('billing deployment fails again')
    expect(chosen).toBeNull()
    expect(others.map(({ session }) => session)).toEqual(['newer', 'older'])
  })

  test('one word that came up only in an answer is chance', async () => {
    await open(database)
    await say('report', 'write the post-mortem', 'The certificate expired; renew it automatically and warn ahead.')
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect(await route('how do I renew my passport?')).toMatchObject({
      chosen: null,
      others: [{ session: 'report', words: ['renew'] }],
    })
    // Alone it would cover all that the message says.
    expect((await route('renew?')).chosen).toBeNull()
    expect((await route('tomatoes?')).chosen?.session).toBe('garden')
    expect(await route('thanks, please go on')).toEqual({ chosen: null, others: [] })
    expect(await route('')).toEqual({ chosen: null, others: [] })
  })

  test('one word that also fits another topic is no route: the nearest is offered, and a second word is enough', async () => {
    await open(database)
    await say('login-bug', 'the login cookie is gone after a restart', 'The cookie has no expiry date.')
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect(await route('where is my cookie recipe?')).toMatchObject({
      chosen: null,
      others: [{ session: 'login-bug', words: ['cookie'] }],
    })
    expect((await route('loginCookie recipe')).chosen).toBeNull()
    expect((await route('is the cookie still lost after a restart?')).chosen?.session).toBe('login-bug')
  })

  test('numbers in words and greetings are no signs', async () => {
    await open(database)
    await say('payroll', 'The import rejects a personnel number of seven digits', 'Widen the column.')
    await say('kita', 'Schreib die Einladung zum Elternabend', 'Liebe Eltern, wir laden euch ein.')
    expect((await route('is seven a prime number?')).chosen).toBeNull()
    expect((await route('Liebe Grüße an deine Eltern')).chosen).toBeNull()
    expect((await route('are personnel numbers with seven digits rejected?')).chosen?.session).toBe('payroll')
  })

  test('two words that came up in different turns are chance, and two of one turn are a route', async () => {
    await open(database)
    await say('flood', 'The neighbour flooded our hallway', 'Send photos and the invoice of the parquet.')
    await say('flood', 'The surveyor comes on Tuesday', 'Have the estimate of the painter ready.')
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect(await route('a hallway concert of the surveyor in Lyon?')).toMatchObject({
      chosen: null,
      others: [{ session: 'flood' }],
    })
    expect((await route('was the hallway of the neighbour damp?')).chosen?.session).toBe('flood')
    expect((await route('hallway surveyor')).chosen?.session).toBe('flood')
  })

  test('small numbers and the grammar of French, Spanish, Italian and Dutch are no signs', async () => {
    await open(database)
    await say(
      'fondation',
      'Combien coûte la dalle pour nous ?',
      'Environ 6500 euros avec deux maçons, pour 110 mètres.',
    )
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect((await route('110 euros in Swiss francs')).chosen).toBeNull()
    expect((await route('une soupe de courge pour deux, avec du pain')).chosen).toBeNull()
    expect((await route('combien de maçons pour la dalle ?')).chosen?.session).toBe('fondation')
  })

  test('a number is one sign, however its thousands are separated', async () => {
    await open(database)
    await say('kitchen', 'We plan a kitchen for 12,000', 'An induction hob fits.')
    expect(await route('a party for 2,000 or 3.000')).toEqual({ chosen: null, others: [] })
    expect((await route('does the hob fit into 12000?')).chosen).toMatchObject({
      words: expect.arrayContaining(['12000']),
    })
  })

  test('the grammar of Russian and Ukrainian is no sign', async () => {
    await open(database)
    await say('сервер', 'Как мне настроить сервер, чтобы он был доступен?', 'Откройте порт 443.')
    await say('отпуск', 'Когда у меня будет отпуск?', 'В августе.')
    for (const text of ['Как мне приготовить суп, чтобы он был вкусным?', 'Когда у меня день рождения?'])
      expect((await route(text)).chosen, text).toBeNull()
    expect((await route('какой порт открыт, и доступен ли сервер?')).chosen?.session).toBe('сервер')
  })

  test('a path is one sign, and the folders and the ending of a file are none', async () => {
    await open(database)
    await say(
      'rounding',
      'The total is off by one cent, add a test',
      'Rounded twice in src/cart/price-sum.ts; test/price-sum.test.ts has the case, see https://shop.example.com/docs/cents.html',
    )
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    for (const text of [
      'Add a comment to src/main.ts',
      'Rename src/cart/a.ts to src/cart/b.ts',
      'Add a test to src/parser.ts',
      'Open test/date.test.ts and add a case',
      'see https://shop.example.com/docs/index.html and summarise',
      'price-sum.ts lacks a licence header',
      'src/main.tsのテストを直して',
    ])
      expect((await route(text)).chosen, text).toBeNull()
    for (const text of ['does src/cart/price-sum.ts round the cents?', 'is the case in price-sum.test.ts rounded?'])
      expect((await route(text)).chosen?.session, text).toBe('rounding')
  })

  test('grammar in hiragana and a verb of one kanji are no signs; words of the topic are', async () => {
    await open(database)
    await say('会議', '来週の会議の議題を作って', '議題は三つあります。')
    await say('請求書', '請求書の文字化けを直して', 'フォントを埋め込みました。')
    await say('英語', '英語の単語テストを作って', '十問作りました。')
    for (const text of [
      'テストを作って',
      '来週の天気を教えて',
      '来週の旅行の計画を作って',
      '会議室の予約',
      'フォントを変えて',
      '時計を直して',
    ])
      expect((await route(text)).chosen, text).toBeNull()
    expect((await route('請求書の文字化けは直りましたか')).chosen?.session).toBe('請求書')
    expect((await route('会議の議題を増やして')).chosen?.session).toBe('会議')
  })

  test('days, hours and money are no signs beside a word of the topic: they meet in messages of any other', async () => {
    await open(database)
    await say('umzug', 'Wann kommt der Umzugswagen am Samstag?', 'Um acht Uhr, zwei Träger sind dabei.')
    await say('kitchen', 'The fitter cancels the appointment on Monday', 'Then the budget of 12,000 euros must do.')
    for (const text of [
      'Am Samstag um acht Uhr gehen wir ins Kino',
      'Monday appointment with my dentist',
      'the budget for the party is 2,000 euros',
    ])
      expect((await route(text)).chosen, text).toBeNull()
    expect((await route('Wie viele Träger hat der Umzugswagen?')).chosen?.session).toBe('umzug')
    expect((await route('did the fitter keep the appointment on Monday?')).chosen?.session).toBe('kitchen')
  })

  test('a salutation is no sign', async () => {
    await open(database)
    await say(
      'bewerbung',
      'Schreib mir ein Anschreiben als Projektleiterin',
      'Sehr geehrte Frau Schulz, mit Interesse ...',
    )
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect((await route('Sehr geehrte Frau Schulz, hiermit kündige ich den Vertrag')).chosen).toBeNull()
    expect((await route('hat Frau Schulz das Anschreiben?')).chosen?.session).toBe('bewerbung')
  })

  test('the verb that opens a request is no sign, nor is what the request wants made', async () => {
    await open(database)
    await say('tax', 'Prepare the papers of the first quarter for our advisor', 'Four receipts are missing.')
    await say('churn', 'Can we predict which subscribers cancel?', 'By the age of the subscription.')
    await say('hiring', 'Write a job ad for a backend engineer', 'It names the salary.')
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    for (const text of [
      'Prepare slides about our sales of the last quarter',
      'Cancel my newspaper subscription, write the letter',
      'please cancel the newspaper subscription',
      'Write a job ad for a cook',
      'Schreib einen job ad',
      'Peel the tomatoes',
    ])
      expect((await route(text)).chosen, text).toBeNull()
    expect((await route('are the papers of the quarter with the advisor?')).chosen?.session).toBe('tax')
    expect((await route('Move the salary of the backend job up')).chosen?.session).toBe('hiring')
    expect((await route('the job ad misses a salary')).chosen?.session).toBe('hiring')
    expect((await route('which age of a subscription predicts that they cancel?')).chosen?.session).toBe('churn')
  })

  test('words of a label name its session side by side; scattered over a message they are one sign', async () => {
    await open(database)
    await say(
      'office-move',
      'We go to the new building in September. What has to happen when?',
      'Order the van by July.',
    )
    await say('garden', 'my tomatoes have spots', 'Remove those leaves.')
    expect((await route('what is left to do for the office move, apart from chess?')).chosen?.session).toBe(
      'office-move',
    )
    expect(await route('a move in the office of the chess club')).toMatchObject({
      chosen: null,
      others: [{ session: 'office-move' }],
    })
    expect((await route('a move of the office into the new building')).chosen?.session).toBe('office-move')
  })

  test('archived sessions, those of agents at work and other folders’ are not looked at', async () => {
    await open(database)
    await say('put-away', 'the chain of my bike jumps')
    await archive(runtime, here, 'put-away', true)
    const label = 'agent:researcher:subagent:x1'
    const ids = { sessionId: runtime.newId(), segmentId: runtime.newId() }
    await runtime.store.write('step', (tx) =>
      startSession(tx, { ...ids, folder: here, label, kind: 'agent', principalId: 'owner', now: 1 }),
    )
    await say(label, 'the chain of my bike jumps')
    await say('elsewhere', 'the chain of my bike jumps', 'Measure it.', '/there')
    expect(await route('does the bike chain jump again?')).toEqual({ chosen: null, others: [] })
    expect((await route('does the bike chain jump again?', '')).chosen).toMatchObject({
      session: 'elsewhere',
      folder: '/there',
    })
  })

  test('only the end of a long talk counts', async () => {
    await open(database)
    await say('long', 'the chain of my bike jumps on the small sprockets')
    for (let turn = 0; turn < 9; turn++) await say('long', 'now practise Spanish verbs with me')
    await say('other', 'my tomatoes have spots')
    expect(await route('which sprockets fit the bike chain?')).toEqual({ chosen: null, others: [] })
    expect((await route('more Spanish verbs')).chosen?.session).toBe('long')
  })
})
