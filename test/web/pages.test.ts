import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
  // A file with a history: asked for, approved, written.
  const asked = heddle.heddle('ask', 'write NOTES.md: buy milk')
  await heddle.approveNext()
  await asked
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
    await page.getByText('Both go on from').waitFor()
    expect(await page.locator('ins').allTextContents()).toEqual(['443', '8443'])
    await page.close()
  })

  test('a line of a file leads back to what a person said', async () => {
    const page = await heddle.open('/why/NOTES.md:1')
    await page.getByText('you said').waitFor()
    await page.getByRole('link', { name: 'What came of it?' }).click()
    await page.getByRole('heading', { name: /What came of/ }).waitFor()
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
})

test('no page broke the content policy, threw, or asked anybody else', () => {
  expect(heddle.troubles).toEqual([])
})
