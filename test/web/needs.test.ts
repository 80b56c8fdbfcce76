import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilSo } from '../setup/until.ts'
import { axeFindings, isTooWide, startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

describe('what needs you', () => {
  test('is answered on a phone in two taps, with the whole change in view', async () => {
    const lines = Array.from({ length: 90 }, (_, at) => `${at} bottles of milk`)
    await heddle.heddle('ask', '--no-wait', `write NOTES.md: buy milk\n${lines.join('\n')}`)
    const page = await heddle.open('/', { theme: 'dark', width: 390, height: 844 })
    await page.getByRole('link', { name: 'Needs 1 need you' }).tap()
    await page.getByText('+buy milk').waitFor()
    // However long, all of it lies on the page, and not in a box that scrolls.
    await page.getByText('+89 bottles of milk').waitFor()
    expect(await page.locator('article pre').evaluate((box) => box.scrollHeight > box.clientHeight)).toBe(false)
    expect(await axeFindings(page)).toEqual([])
    expect(await isTooWide(page)).toBe(false)
    await page.getByRole('button', { name: 'Allow once' }).tap()
    await page.getByText('Nothing needs you').waitFor()
    await page.getByRole('link', { name: 'Runs' }).tap()
    await page.getByRole('listitem').filter({ hasText: 'done@writer' }).waitFor()
    expect(existsSync(join(heddle.folder, 'NOTES.md'))).toBe(true)
    await page.close()
  })

  test('stays closed when it changes while it is read, until the new version is shown', async () => {
    const page = await heddle.open('/s/plan')
    await page.locator('#message').fill('survey and report per part')
    await page.locator('#message').press('Enter')
    await page.getByText('asks to start a plan').waitFor()
    await page.getByRole('link', { name: /^Needs you/ }).click()
    const card = page.getByRole('article', { name: /^Approval/ })
    await card.getByText('summarise src').first().waitFor()
    // The first plan of a new home has the tasks 1 to 6.
    await heddle.heddle('tasks', 'edit', 'task:1', '--agent', 'code-review')
    await page.getByText('This is no longer what you saw').waitFor()
    await page.keyboard.press('1')
    await page.getByRole('button', { name: 'Show what it is now' }).click()
    await card
      .getByText(/summarise .*@code-review/)
      .first()
      .waitFor()
    const form = await heddle.open('/plans/1?task=1')
    await form.getByRole('button', { name: 'Edit…' }).click()
    await form.getByLabel('Agent').fill('writer')
    await heddle.post('/v1/tasks/1', { action: 'edit', skill: 'researcher' })
    await form.getByText('This task was changed while you wrote').waitFor()
    expect(await form.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await form.getByRole('button', { name: 'Keep mine' }).click()
    // Another change that comes between the click and the answer is not overwritten either.
    await form.route('**/v1/tasks/1', async (route) => {
      await heddle.post('/v1/tasks/1', { action: 'edit', skill: 'tester' })
      await route.continue()
    })
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('task:1 has changed since you read it').waitFor()
    await form.getByText('This task was changed while you wrote').waitFor()
    expect(JSON.parse(await heddle.heddle('show', 'task:1', '--json'))).toMatchObject({ skill: 'tester' })
    await form.close()
    // Two changes came: a page that was told of them one after the other shows each before it can be answered.
    const isTold = async () => {
      const show = page.getByRole('button', { name: 'Show what it is now' })
      if (await show.isVisible()) await show.click()
      return (await card.getByText('@tester').count()) > 0 && !(await show.isVisible())
    }
    await untilSo(isTold)
    await card.getByRole('button', { name: 'No…' }).click()
    await card.getByLabel(/Why not/).fill('too much')
    await card.getByRole('button', { name: 'Do not allow it' }).click()
    await page.getByText('Nothing needs you').waitFor()
    await page.close()
  })

  test('no more is a plan that was refused, and a button still starts it', async () => {
    const page = await heddle.open('/plans/1')
    const progress = page.getByText('not started, 6 tasks').locator('..')
    await page.getByRole('button', { name: 'Start the plan' }).waitFor()
    // A circle, not the diamond of what needs you.
    await progress.locator('circle').waitFor()
    await page.getByRole('button', { name: 'Start the plan' }).click()
    await page.getByText('asks to start a plan').waitFor()
    await progress.locator('circle').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Start the plan' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'No…' }).click()
    await page.getByRole('button', { name: 'Do not allow it' }).click()
    await page.getByRole('button', { name: 'Start the plan' }).waitFor()
    await page.getByRole('link', { name: 'Needs you', exact: true }).click()
    await page.getByText('Nothing needs you').waitFor()
    await page.close()
  })

  test('can be allowed for longer, which is listed below until it is revoked', async () => {
    await heddle.heddle('ask', '--no-wait', '-s', 'lists', 'write LIST.md: eggs')
    const page = await heddle.open('/needs')
    await page.getByText('+eggs').waitFor()
    await page.getByRole('button', { name: 'Allow once' }).click({ trial: true })
    await page.keyboard.press('2')
    await page.getByText('every agent of lists').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('every agent of lists').waitFor({ state: 'detached' })
    await page.close()
  })

  test('is answered by the first of two clicks only: a call that moves to its place waits for its own', async () => {
    await heddle.heddle('ask', '--no-wait', '-s', 'first', 'write FIRST.md: bread')
    await heddle.heddle('ask', '--no-wait', '-s', 'second', 'write SECOND.md: bread')
    const page = await heddle.open('/needs')
    const cards = page.getByRole('article', { name: /^Approval/ })
    await cards.nth(1).waitFor()
    const allow = cards.nth(0).getByRole('button', { name: 'Allow once' })
    await allow.click({ trial: true })
    await allow.evaluate(pressAgainOnceMoved)
    await allow.click()
    await cards.nth(1).waitFor({ state: 'detached' })
    expect(await page.locator('body').getAttribute('data-pressed')).toMatch(/^Allow once/)
    await cards.getByRole('button', { name: 'No…' }).click()
    await cards.getByRole('button', { name: 'Do not allow it' }).click()
    await page.getByText('Nothing needs you').waitFor()
    expect(existsSync(join(heddle.folder, 'SECOND.md'))).toBe(false)
    await page.close()
  })

  test('keeps its address after the answer and tells the answer', async () => {
    const page = await heddle.open('/needs/1')
    await page.getByText('allowed: once').waitFor()
    expect(await page.getByRole('article', { name: 'Approval 1' }).textContent()).toContain('+buy milk')
    await page.close()
  })

  test('shows hostile words as words', async () => {
    const hostile = '<img src=x onerror="window.broken=1"> [ok](javascript:window.broken=1) \u202eevil\u200b'
    await heddle.heddle('ask', '--no-wait', '-s', 'odd', `write ODD.md: ${hostile}`)
    const page = await heddle.open('/needs')
    await page.getByText('+<img src=x').waitFor()
    // What is written counts as it is: a character that is not seen is written out.
    expect(await page.locator('main pre').allTextContents()).toContainEqual(expect.stringContaining('\\u{200b}'))
    await page.goto(`${heddle.url}/runs`)
    await page.getByRole('link', { name: '@writer' }).first().click()
    await page.getByText('Why these?').waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.locator('main').textContent()).not.toMatch(/\u202e/)
    expect(await page.evaluate(() => (window as { broken?: unknown }).broken ?? null)).toBeNull()
    expect(heddle.troubles).toEqual([])
    await page.close()
  })
})

/**
 * Runs in the page: clicks the same answer of the next card, and presses its key, in the moment when this button's card has
 * made room for it. From outside, a busy machine could take longer than a double click does.
 */
function pressAgainOnceMoved(button: Element): void {
  const watch = new MutationObserver(() => {
    if (button.isConnected) return
    watch.disconnect()
    const next = [...document.querySelectorAll('button')].find((each) => each.textContent === button.textContent)
    document.body.dataset['pressed'] = next?.textContent ?? 'nothing'
    next?.click()
    document.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }))
  })
  watch.observe(document.body, { childList: true, subtree: true })
}
