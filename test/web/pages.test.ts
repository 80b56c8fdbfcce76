import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilSo } from '../setup/until.ts'
import { startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
  // A file with a history: asked for, approved, written.
  const asked = heddle.heddle('ask', 'write NOTES.md: buy milk')
  await heddle.approveNext()
  await asked
  await heddle.post('/v1/memories', { content: 'tea is late', tags: [] })
})
afterAll(() => heddle.close())

describe('the other pages', () => {
  test('two branches are compared from their common turn, with the words that differ', async () => {
    await heddle.append('left', 'which port?', '8080')
    await heddle.post('/v1/turns/fork', { folder: heddle.folder, turn: 'left', label: 'right' })
    await heddle.append('left', 'and in production?', '443, behind the proxy')
    await heddle.append('right', 'and in production?', '8443, behind the proxy')
    const page = await heddle.open('/s/left')
    for (const session of ['left', 'right']) {
      await page.goto(`${heddle.url}/s/${session}`)
      await page.getByRole('button', { name: 'What to do with turn 2' }).click()
      await page.getByRole('menuitem', { name: /Mark to compare/ }).click()
    }
    await page.getByRole('button', { name: 'Compare the two marked turns' }).click()
    await page.getByText('Both continue from').waitFor()
    expect(await page.locator('ins').allTextContents()).toEqual(['443', '8443'])
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('left and right')
    // What an agent wrote for a branch is a part of it. A turn in the middle has no session, but what was asked.
    const log = JSON.parse(await heddle.heddle('log', 'left', '--json')) as { turns: { id: string }[] }
    await page.goto(`${heddle.url}/compare/main...${log.turns[0]?.id}`)
    await page.getByRole('heading', { level: 1, name: 'main and “which port?”' }).waitFor()
    const figures = page.getByRole('row').filter({ hasText: /^(agents|files)/ })
    expect(await figures.allTextContents()).toEqual(['agents@writer 1–', 'filesNOTES.md–'])
    await page.close()
  })

  test('a line of a file leads back to what a person said', async () => {
    const page = await heddle.open('/why/NOTES.md:1')
    await page.getByText('you said').waitFor()
    await page.getByRole('link', { name: 'Consequences' }).click()
    await page.getByRole('heading', { name: /Consequences of/ }).waitFor()
    await page.close()
  })

  test('a reference that an agent made up leads to a page that says so, and to those that exist', async () => {
    await heddle.append('invented', 'who did it?', 'It was run:zzzzzz, see task:99.')
    const page = await heddle.open('/s/invented')
    await page.getByRole('link', { name: 'run:zzzzzz' }).click()
    await page.getByText('there is no run "zzzzzz" here').waitFor()
    await page.getByRole('link', { name: 'All runs' }).click()
    await page.waitForURL('**/runs')
    await page.goto(`${heddle.url}/tasks/99`)
    await page.getByText('never was: agents write such names, too').waitFor()
    await page.close()
  })

  test('a few letters in the palette lead to a page, a session or a reference', async () => {
    const page = await heddle.open('/')
    await page.getByRole('link', { name: 'Open chat' }).waitFor()
    for (const [typed, address] of [
      ['usg', /\/usage$/],
      ['run:zzzzzz', /\/runs\/zzzzzz$/],
    ] as const) {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /^Go to a page/ }).fill(typed)
      await page.keyboard.press('Enter')
      await page.waitForURL(address)
    }
    await page.close()
  })

  test("today's cost by agent is two clicks away", async () => {
    const page = await heddle.open('/')
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('rowheader', { name: '@writer' }).waitFor()
    await page.close()
  })

  test('all turns are found by their words and opened with the keyboard', async () => {
    const page = await heddle.open('/turns')
    await page.getByRole('searchbox').fill('which port')
    await page.getByText(/^1 of/).waitFor()
    await page.locator('main h1').click()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/s\/(left|right)\//)
    await page.close()
  })

  test('the end of an id leads to its turn, and an unknown one says so', async () => {
    const log = JSON.parse(await heddle.heddle('log', '--json')) as { turns: { id: string }[] }
    const id = log.turns[0]?.id ?? ''
    const page = await heddle.open(`/t/${id.slice(-6)}`)
    await page.waitForURL(`**/t/${id}`)
    await page.goto(`${heddle.url}/t/zzzzzz`)
    await page.getByRole('alert').waitFor()
    await page.close()
  })

  test('every label of a session is an address, and what cannot be read as one is told as missing', async () => {
    await heddle.append('team:mia+jo@home', 'which day?', 'on Monday')
    const page = await heddle.open('/')
    await page.getByRole('link', { name: 'team:mia+jo@home' }).click()
    await page.getByText('on Monday').waitFor()
    await page.goto(`${heddle.url}/%zz`)
    await page.getByText('There is no page /%zz').waitFor()
    await page.goto(`${heddle.url}/agents/nobody`)
    await page.getByText('there is no agent @nobody').waitFor()
    expect(await page.getByText('Give it work').count()).toBe(0)
    await page.close()
  })

  test('only the link that signs in chooses the folder, and it may be opened again', async () => {
    const page = await (await heddle.context()).newPage()
    await page.goto(`${heddle.url}/welcome?in=/etc`)
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    const told = await page.locator('main').textContent()
    expect(told).toContain(`works in ${heddle.folder} and keeps its records in ${join(heddle.folder, '../home')}.`)
    const [link = ''] = /http:.*/.exec(await heddle.heddle('open', '--print')) ?? []
    for (let times = 0; times < 2; times++) {
      await page.goto('about:blank')
      await page.goto(link)
      await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    }
    await page.context().close()
  })

  test.each([1, -1])(
    'times are told by the clock of Heddle, also where that of the browser is off by %i hour',
    async (hours) => {
      const context = await heddle.context()
      await context.addInitScript((shift) => {
        const Right = Date
        const now = () => Right.now() + shift
        const Wrong = new Proxy(Right, {
          construct: (_, given) => (given.length === 0 ? new Right(now()) : Reflect.construct(Right, given)),
          get: (_, name) => (name === 'now' ? now : Reflect.get(Right, name)),
        })
        Object.assign(window, { Date: Wrong })
      }, hours * 3_600_000)
      const page = await context.newPage()
      await page.goto(`${heddle.url}/memory`)
      const age = page.getByRole('listitem').filter({ hasText: 'tea is late' }).locator('time')
      // It is some seconds old by now, minutes on a busy machine, and not an hour.
      await untilSo(async () => /^\d+ (s|min) ago$/.test((await age.textContent()) ?? ''))
      await context.close()
    },
  )
})

describe('another user', () => {
  test('is offered the pages that the user may see, and signs out with nothing left behind', async () => {
    await heddle.heddle('users', 'add', 'mia', '--role', 'public')
    const [link = ''] = /http:.*/.exec(await heddle.heddle('open', '--user', 'mia', '--print')) ?? []
    const page = await (await heddle.context()).newPage()
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    const nav = page.getByRole('navigation', { name: 'Pages' })
    expect(await nav.getByRole('listitem').allTextContents()).toEqual([
      ...['Overview', 'Chat', 'Runs', 'Plans', 'Turns', 'Agents', 'Usage'],
    ])
    await nav.getByRole('link', { name: 'Chat' }).click()
    await page.locator('#message').fill('not sent yet')
    await nav.getByText('mia', { exact: true }).waitFor()
    await nav.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are not signed in').waitFor()
    expect(await page.evaluate(() => Object.values({ ...localStorage }).join())).not.toContain('not sent yet')
    expect((await page.request.get(`${heddle.url}/v1/me`)).status()).toBe(401)
    await page.context().close()
  })
})

describe('an agent', () => {
  test('is told with its file, tools, model and reasons, and with the runs that it made', async () => {
    const page = await heddle.open('/agents')
    await page.getByRole('link', { name: '@writer' }).click()
    await page.waitForURL(/\/agents\/writer$/)
    await page.getByText('the registry gives it this profile').waitFor()
    await page.getByText('the default model').waitFor()
    expect(await page.getByRole('listitem').filter({ hasText: 'write_file' }).first().textContent()).toMatch(
      'write_file asks first',
    )
    await page.getByRole('listitem').filter({ hasText: 'write NOTES.md: buy milk' }).waitFor()
    await page.getByText('Its instructions').click()
    await page.keyboard.press('Escape')
    await page.waitForURL(/\/agents$/)
    await page.goto(`${heddle.url}/agents/writr`)
    await page.getByText('did you mean @writer?').waitFor()
    await page.goto(`${heddle.url}/agents/tester`)
    await page.getByText('It has not worked here yet').waitFor()
    await page.close()
  })
})

describe('skills', () => {
  test('are told with where they are, who is given them, and what is wrong with them', async () => {
    const home = join(heddle.folder, '../home/skills')
    await heddle.heddle('agents', 'new', 'formatting')
    writeFileSync(join(home, 'lost.md'), '---\nname: lost\nmodel: nowhere\n---\nText.\n')
    const entry = { agentId: '@poet', profileId: 'profile:writer:v1', description: 'Writes poems.' }
    await heddle.post('/v1/agents/register', { ...entry, defaultForwardSkills: ['formatting'] })
    const page = await heddle.open('/skills')
    const row = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
    await row('lost').getByText('there is no model nowhere in heddle.yaml').waitFor()
    await row('lost').getByText('lost.md:3').waitFor()
    await row('formatting').getByText('given with every task to').waitFor()
    await row('formatting')
      .getByText(/^in your home/)
      .waitFor()
    await page.getByRole('link', { name: 'Problems' }).click()
    await row('coder').waitFor({ state: 'detached' })
    await row('lost').waitFor()
    await page.getByRole('link', { name: 'All', exact: true }).click()
    await row('formatting').getByRole('link', { name: '@poet' }).click()
    await page.getByRole('link', { name: 'formatting' }).click()
    await page.waitForURL(/\/skills\/formatting$/)
    await row('formatting').getByText('as an agent').waitFor()
    await page.close()
  })
})

describe('the doctor', () => {
  test('shows each finding with what helps, and every setting with where it comes from', async () => {
    chmodSync(join(heddle.folder, '../home'), 0o755)
    const page = await heddle.open('/doctor')
    const finding = page.getByRole('listitem').filter({ hasText: 'permissions' })
    await finding.getByText('other users of this machine can read').waitFor()
    await finding.getByRole('button', { name: /^copy/ }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^chmod go-rwx .*home$/)
    chmodSync(join(heddle.folder, '../home'), 0o700)
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByText('nothing is wrong').waitFor()
    await page.getByRole('row', { name: 'agents.maxConcurrent 3 default', exact: true }).waitFor()
    await page.getByLabel('Find a setting').fill('perday')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await page.close()
  })
})

test('no page broke the content policy, threw, or asked anybody else', () => {
  expect(heddle.troubles).toEqual([])
})
