import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilSo } from '../setup/until.ts'
import { startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

const box = (page: Page) => page.locator('#message')

async function send(page: Page, text: string): Promise<void> {
  await box(page).fill(text)
  await box(page).press('Enter')
}

describe('a chat', () => {
  test('answers between the calls, asks inline for what is shown, and carries the plan out', async () => {
    const page = await heddle.open('/s/main')
    await send(page, 'survey and report per part')
    const asked = page.getByRole('article', { name: /^Approval/ })
    await asked.getByText('asks to start a plan').waitFor()
    // The words of a reply stand before the calls that it made, also after a reload.
    const answer = page.getByRole('article', { name: 'Answer under way' })
    await untilSo(async () => /has 6 tasks.*wait<?\d/s.test((await answer.textContent()) ?? ''))
    await page.waitForFunction(() => document.title === '(1) main · heddle')
    await asked.getByRole('button', { name: 'Allow once' }).click()
    await asked.getByText('asks to use write_file').waitFor()
    expect(await asked.textContent()).toContain('+## src/api')
    await asked.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText(/plan:1: 6 completed/).waitFor()
    expect(await page.getByRole('article', { name: /^Turn/ }).count()).toBeGreaterThan(2)
    await page.close()
  })

  test('refuses an answer for something else than what was shown, and stops what only an agent is at with a button, and says so', async () => {
    const page = await heddle.open('/s/refused')
    await page.route('**/v1/approvals/*', (route) => {
      const sent = route.request().postDataJSON() as { hash: string }
      return route.continue({ postData: JSON.stringify({ ...sent, hash: '0'.repeat(64) }) })
    })
    await send(page, 'write NOTES.md: buy milk')
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toMatch(/Nothing was sent on/)
    await page.unroute('**/v1/approvals/*')
    await page.getByRole('article', { name: 'Answer under way' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('article', { name: /^Approval/ }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' })
    // No turn follows that could say so; it is told under the last one, also after a reload.
    const note = page.getByRole('note', { name: 'Stopped' })
    expect(await note.textContent()).toMatch(/^stopped by you.*not finished:.*@writer run:\w{6}$/)
    await page.reload()
    await note.waitFor()
    await page.close()
  })

  test('begins empty and without a refused request, also while another folder has a session of its name', async () => {
    await heddle.append('fresh', 'hello', 'said in the other folder')
    const context = await heddle.context()
    await context.addInitScript((folder) => sessionStorage.setItem('heddle.folder', folder), `${heddle.folder}/src`)
    const page = await context.newPage()
    const refused: string[] = []
    page.on('response', (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`))
    await page.goto(`${heddle.url}/s/fresh`)
    await page.getByText('Nothing was said here yet').waitFor()
    await send(page, 'what can you do?')
    await page.getByRole('article', { name: 'Turn 1' }).waitFor()
    expect(await page.getByText('said in the other folder').count()).toBe(0)
    expect(refused).toEqual([])
    await context.close()
  })

  test('keeps what is typed over a reload and a look at another page', async () => {
    const page = await heddle.open('/s/main')
    await box(page).fill('half a thought')
    await page.reload()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Chat', exact: true }).click()
    expect(await box(page).inputValue()).toBe('half a thought')
    await box(page).fill('')
    await page.close()
  })

  test('forks from any turn, and the tree shows both branches', async () => {
    const page = await heddle.open('/s/main')
    await page.getByRole('button', { name: 'What to do with turn 1' }).click()
    await page.getByRole('menuitem', { name: /Fork from here/ }).click()
    await page.getByLabel('Name of the new session').fill('second-try')
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    await page.waitForURL('**/s/second-try')
    await send(page, 'what can you do?')
    await page.getByText('2 branches').waitFor()
    await page.close()
  })

  test('has on a phone the way to compare two marked turns in view', async () => {
    const page = await heddle.open('/s/main', { width: 390, height: 844 })
    await page.getByRole('button', { name: 'Turns', exact: true }).click()
    const hint = await page.getByText(/^Each turn has a menu/).boundingBox()
    expect((hint?.y ?? 0) + (hint?.height ?? Number.NaN)).toBeLessThanOrEqual(844)
    await page.close()
  })

  test('opens at the turn of its address', async () => {
    const log = JSON.parse(await heddle.heddle('log', '--json')) as { turns: { id: string }[] }
    const page = await heddle.open(`/s/main/${log.turns[0]?.id}`)
    await page.locator(`#turn-${log.turns[0]?.id}:focus`).waitFor()
    await page.close()
  })

  test('takes who sends a message to it, and lets no header lie above a dialog', async () => {
    const page = await heddle.open('/s/main')
    await page.getByText(/plan:1: 6 completed/).waitFor()
    const isAtEnd = () => window.scrollY > 0 && window.scrollY + innerHeight > document.body.scrollHeight - 20
    await page.waitForFunction(isAtEnd)
    const scrollUp = async () => {
      await page.mouse.wheel(0, -5000)
      return page.evaluate(() => window.scrollY)
    }
    await untilSo(async () => (await scrollUp()) === 0)
    await send(page, 'what can you do?')
    await page.waitForFunction(isAtEnd)
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    const { x, y } = (await page.locator('main header').first().boundingBox()) ?? { x: 0, y: 0 }
    const isCovered = await page.evaluate(
      ([x = 0, y = 0]) => !document.elementFromPoint(x, y)?.closest('header'),
      [x + 5, y + 5],
    )
    expect(isCovered).toBe(true)
    await page.close()
  })

  test('offers the commands of the registry and carries them out', async () => {
    const page = await heddle.open('/s/main')
    await box(page).fill('/stat')
    await page.getByRole('option', { name: /status/ }).waitFor()
    await box(page).press('Tab')
    expect(await box(page).inputValue()).toBe('/status ')
    await box(page).press('Enter')
    await page.getByRole('region', { name: 'Result of /status' }).waitFor()
    await page.close()
  })

  test('shows an answer with character references and markup as text', async () => {
    const text = '1 &gt; 0 &amp; &nbsp;<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](http://example.org/x)'
    await heddle.append('marked', 'say &gt;', text)
    const page = await heddle.open('/s/marked')
    await page.getByText('1 > 0 &').waitFor()
    expect(await page.locator('article img').count()).toBe(0)
    expect(await page.locator('article [class*=text] a').allTextContents()).toEqual(['b ↗example.org'])
    await page.close()
  })
})
