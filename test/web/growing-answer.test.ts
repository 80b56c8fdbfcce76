import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'
import { type ProviderAnswer, type ProviderRequest, startProvider, type TestProvider } from '../../src/testing.ts'
import { startTestPage, type TestPage } from './browser.ts'

const words = Array.from({ length: 60 }, (_, at) => `word${at}`)
/** Eight parts: the first at once, each further one when the test allows it. */
const inParts = { pieceBytes: 250, pause: 1 }
let allowed = 0
const waiting = new Set<() => void>()
const clock: Clock = {
  ...systemClock,
  async sleep(_, signal) {
    while (allowed === 0 && !signal?.aborted)
      await new Promise<void>((resolve) => {
        waiting.add(resolve)
        signal?.addEventListener('abort', () => resolve())
      })
    // One that was cut must not take a part from another.
    if (!signal?.aborted) allowed--
  },
}
const allow = (parts: number) => {
  allowed = parts
  for (const wake of waiting) wake()
  waiting.clear()
}

/** A coordinator that has a plan made and starts it only when it is told to; undefined for what is not about a plan. */
function answerAboutPlan({ messages, tools }: ProviderRequest): ProviderAnswer | undefined {
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const last = messages.at(-1)
  const about = /have a walk planned|run plan 1|\[plan:1, /
  const asked = messages.findLast(({ role, content }) => role === 'user' && about.test(content))?.content ?? ''
  if (has('plan_tasks')) {
    const task = { key: 'a', title: 'Look around', context: 'Read README.md.\nTell what it says.', skill: 'researcher' }
    const plan = { project: { title: 'A walk' }, tasks: [{ ...task, depends_on: [] }] }
    return last?.role === 'tool' ? { text: 'Here it is.' } : { calls: [{ name: 'plan_tasks', input: plan }] }
  }
  if (asked.includes('[plan:1, ')) return { text: 'A fine plan.' }
  if (last?.role === 'tool') return undefined
  if (asked.includes('have a walk planned'))
    return {
      calls: [{ name: 'spawn_agent', input: { task: 'plan a walk', skill: 'project-planner' } }, { name: 'wait' }],
    }
  return asked.includes('run plan 1') ? { calls: [{ name: 'run_project', input: { project_id: 1 } }] } : undefined
}

let heddle: TestPage
let provider: TestProvider
beforeAll(async () => {
  provider = await startProvider({
    clock,
    answer: (request) =>
      answerAboutPlan(request) ?? { text: `# Heading\n\n${words.join(' ')}\n\n- last **line**`, faults: inParts },
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

  test('takes a message that steers it, and one that came after its last step is answered next', async () => {
    const page = await heddle.open('/s/steered')
    allow(1)
    await page.locator('#message').fill('first')
    await page.locator('#message').press('Enter')
    await page.getByLabel('When it is read').selectOption('steer')
    await page.locator('#message').fill('in fewer words')
    await page.locator('#message').press('Enter')
    await page
      .locator('span')
      .filter({ hasText: /^reaches it at its next step$/ })
      .first()
      .waitFor()
    allow(Number.POSITIVE_INFINITY)
    await page.getByRole('article', { name: 'Turn 2' }).getByText('in fewer words').waitFor()
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

test('a plan that a model made and did not start needs you, and is started with a button', async () => {
  allow(Number.POSITIVE_INFINITY)
  await heddle.post('/v1/inputs', { folder: heddle.folder, session: 'walk', content: 'have a walk planned' })
  const page = await heddle.open('/needs')
  await page.getByText('The plan “A walk” was not started').waitFor()
  expect(await heddle.heddle('status')).toMatch(/needs you +1, first plan:1 +heddle plans plan:1/)
  await page.getByRole('link', { name: 'Decide' }).click()
  await page.getByRole('button', { name: 'Start the plan' }).click()
  await page.getByText('@coordinator asks to start a plan').waitFor()
  await page.getByRole('button', { name: 'Start the plan' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Cancel the plan' }).click()
  await page.getByRole('button', { name: 'Cancel it' }).click()
  await page.getByText('@coordinator asks to start a plan').waitFor({ state: 'detached' })
  await page.close()
})
