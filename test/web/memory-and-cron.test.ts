import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axeFindings, brokenWords, isTooWide, startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

describe('memory', () => {
  test('is found with the reason, said anew, and forgotten', async () => {
    await heddle.post('/v1/memories', { content: 'the port is 8443', tags: ['net'] })
    const page = await heddle.open('/memory')
    await page.getByRole('searchbox').fill('which port')
    await page.getByText('shares port').waitFor()
    await page.getByRole('link', { name: 'the port is 8443' }).click()
    await page.getByRole('button', { name: 'Change…' }).click()
    await page.getByLabel('What is true now').fill('the port is 9443')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('s', { hasText: 'the port is 8443' }).waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('button', { name: 'Forget it' }).click()
    await page.getByRole('link', { name: 'the port is 9443' }).waitFor({ state: 'detached' })
    await page.close()
  })
})

describe('cron', () => {
  test('runs a job now and tells what came of it', async () => {
    await heddle.heddle('cron', 'add', '--every', '2h', '--message', 'summarise src')
    const page = await heddle.open('/cron', { width: 390, height: 844 })
    await page.getByText('not fired yet').waitFor()
    await page.getByText(/did not fire · next four days: due in 4[78] of 96 hours/).waitFor()
    expect(await axeFindings(page)).toEqual([])
    expect([await isTooWide(page), await brokenWords(page)]).toEqual([false, []])
    await page.getByRole('button', { name: 'Run now' }).click()
    await page
      .getByRole('list', { name: /^Last times/ })
      .getByText('completed')
      .waitFor()
    await page.getByText('Last three days: 1 done').waitFor()
    expect(await page.locator('figure title').allTextContents()).toContainEqual(expect.stringMatching(/: 1 done$/))
    expect(heddle.troubles).toEqual([])
    await page.close()
  })
})
