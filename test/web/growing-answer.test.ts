import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'
import { startProvider, type TestProvider } from '../../src/testing.ts'
import { startTestPage, type TestPage } from './browser.ts'

const words = Array.from({ length: 60 }, (_, at) => `word${at}`)
/** Eight parts: the first at once, each further one when the test allows it. */
const inParts = { pieceBytes: 250, pause: 1 }
let allowed = 0
let wake = () => {}
const clock: Clock = {
  ...systemClock,
  async sleep(_, signal) {
    while (allowed === 0 && !signal?.aborted)
      await new Promise<void>((resolve) => {
        wake = resolve
        signal?.addEventListener('abort', () => resolve())
      })
    allowed--
  },
}
const allow = (parts: number) => {
  allowed = parts
  wake()
}

let heddle: TestPage
let provider: TestProvider
beforeAll(async () => {
  provider = await startProvider({
    clock,
    answer: () => ({ text: `# Heading\n\n${words.join(' ')}\n\n- last **line**`, faults: inParts }),
  })
  heddle = await startTestPage({ model: provider.url })
})
afterAll(async () => {
  allow(Number.POSITIVE_INFINITY)
  await heddle.close()
  await provider.close()
})

describe('an answer that is being written', () => {
  test('grows on the page, goes on after a reload, and becomes the turn', async () => {
    const page = await heddle.open('/s/main')
    allow(0)
    await page.locator('#message').fill('tell me a lot')
    await page.locator('#message').press('Enter')
    const growing = page.getByRole('article', { name: 'Answer under way' })
    allow(3)
    await growing.getByText('word3').waitFor()
    expect(await growing.textContent()).not.toContain('word59')
    await page.reload()
    // All that was written before the reload is there again.
    await growing.getByText('word0 word1 word2 word3').waitFor()
    allow(Number.POSITIVE_INFINITY)
    const turn = page.getByRole('article', { name: 'Turn 1' })
    await turn.getByText(words.join(' ')).waitFor()
    await growing.waitFor({ state: 'detached' })
    expect(await page.getByRole('article').count()).toBe(1)
    await page.close()
  })

  test('keeps its elements when it becomes the turn: nothing vanishes for a moment, what is selected stays selected', async () => {
    const page = await heddle.open('/s/kept')
    allow(3)
    await page.locator('#message').fill('tell me a lot')
    await page.locator('#message').press('Enter')
    await page.getByRole('article', { name: 'Answer under way' }).getByText('word3').waitFor()
    await page.evaluate(() => {
      const heading = document.querySelector('article h3')
      if (heading) getSelection()?.selectAllChildren(heading)
      const gone: string[] = []
      Object.assign(window, { heddleGone: gone })
      new MutationObserver(() => {
        const text = document.querySelector('main')?.textContent ?? ''
        if (text.split('word3 ').length !== 2) gone.push(text)
      }).observe(document.body, { childList: true, characterData: true, subtree: true })
    })
    allow(Number.POSITIVE_INFINITY)
    const turn = page.getByRole('article', { name: 'Turn 1' })
    await turn.getByText(words.join(' ')).waitFor()
    await turn.getByText('tokens').waitFor()
    const after = await page.evaluate(() => ({
      gone: (window as unknown as { heddleGone: string[] }).heddleGone,
      selected: getSelection()?.toString(),
      within: getSelection()?.anchorNode?.parentElement?.closest('article')?.ariaLabel,
    }))
    expect(after).toEqual({ gone: [], selected: 'Heading', within: 'Turn 1' })
    await page.close()
  })

  test('is stopped by the button, and what was written is kept', async () => {
    const page = await heddle.open('/s/halted')
    allow(3)
    await page.locator('#message').fill('tell me a lot')
    await page.locator('#message').press('Enter')
    await page.getByRole('article', { name: 'Answer under way' }).getByText('word3').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    const turn = page.getByRole('article', { name: 'Turn 1' })
    await turn.getByText('cancelled', { exact: true }).waitFor()
    expect(await turn.textContent()).toContain('word3')
    await page.close()
  })

  test('lets a message wait for its turn, and shows that it does', async () => {
    const page = await heddle.open('/s/busy')
    allow(1)
    await page.locator('#message').fill('first')
    await page.locator('#message').press('Enter')
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await page.locator('#message').fill('second')
    await page.locator('#message').press('Enter')
    await page
      .locator('span')
      .filter({ hasText: /^is answered next$/ })
      .first()
      .waitFor()
    allow(Number.POSITIVE_INFINITY)
    await page.getByRole('article', { name: 'Turn 2' }).getByText('second').waitFor()
    expect(heddle.troubles).toEqual([])
    await page.close()
  })

  test('and is cut by a kill of the daemon goes on after it, which the overview tells, all without a reload', async () => {
    const page = await heddle.open('/s/crash')
    allow(3)
    await page.locator('#message').fill('tell me a lot')
    await page.locator('#message').press('Enter')
    await page.getByRole('article', { name: 'Answer under way' }).getByText('word3').waitFor()
    const cut = await heddle.stop()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('alert').getByText('Heddle does not answer').waitFor()
    await cut.start()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    allow(Number.POSITIVE_INFINITY)
    await page.getByRole('article', { name: 'Turn 1' }).getByText(words.join(' ')).waitFor()
    expect(await page.getByRole('article').count()).toBe(1)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText(/after a crash: 1 run resumed, 0 lost/).waitFor()
    await page.getByRole('link', { name: /^run:/ }).first().click()
    await page.getByText('tell me a lot').first().waitFor()
    expect(heddle.troubles).toEqual([])
    await page.close()
  })
})
