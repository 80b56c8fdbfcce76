import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axeFindings, isTooWide, startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

/** Replaces all of the text in the editor. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Registry of agents' }).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

const registry = (...descriptions: string[]) =>
  JSON.stringify({
    version: 1,
    agents: descriptions.map((description, at) => ({
      agentId: `@agent-${at}`,
      profileId: 'profile:writer:v1',
      description,
    })),
  })

describe('the registry', () => {
  test('marks what is wrong while it is typed, and is saved after a look at the changes', async () => {
    const page = await heddle.open('/agents')
    await page.getByText('@code-review').waitFor()
    await page.getByRole('link', { name: 'Edit the registry' }).click()
    await write(page, registry('one').replace('@agent-0', 'Bad Id'))
    await page.getByText('1 finding').waitFor()
    expect(await page.getByRole('button', { name: 'See changes' }).isDisabled()).toBe(true)
    await write(page, registry('one'))
    await page.getByText('not saved yet').waitFor()
    expect(await axeFindings(page)).toEqual([])
    expect(await isTooWide(page)).toBe(false)
    await page.getByRole('button', { name: 'See changes' }).click()
    await page.getByRole('button', { name: 'Save as version 2' }).click()
    await page.getByText(/^version 2, saved/).waitFor()
    await page.close()
  })

  test('never overwrites what somebody else saved: it shows both changes, and goes on from theirs', async () => {
    const page = await heddle.open('/agents/registry')
    await write(page, registry('one', 'mine'))
    await heddle.post('/v1/agents/registry', { registry: JSON.parse(registry('theirs')), expectedVersion: 2 })
    await page.getByRole('button', { name: 'See changes' }).click()
    await page.getByRole('button', { name: 'Save as version 3' }).click()
    await page.getByText('saved version 3 while you were editing version 2').waitFor()
    await page.getByRole('heading', { name: 'Theirs, since version 2' }).waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Continue with my text' }).click()
    await page.getByRole('button', { name: 'See changes' }).click()
    await page.getByRole('button', { name: 'Save as version 4' }).click()
    await page.getByText(/^version 4, saved/).waitFor()
    expect(heddle.troubles).toEqual([])
    await page.close()
  })
})
