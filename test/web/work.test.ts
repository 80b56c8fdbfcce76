import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'
import { axeFindings, brokenWords, isTooWide, looks, startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
  // A plan that was cancelled when it asked: the tasks of the next one have other ids than places.
  const first = { folder: heddle.folder, session: 'first', content: 'survey and report per part', attended: true }
  await heddle.post('/v1/inputs', first)
  await untilSo(async () => (await heddle.heddle('approvals')).includes('run_project'))
  await heddle.heddle('cancel', 'plan:1')
})
afterAll(() => heddle.close())

describe('a plan', () => {
  test('appears and runs before the reader without a reload', async () => {
    const page = await heddle.open('/plans')
    await page.getByText('plan:1').waitFor()
    await heddle.heddle('ask', '--no-wait', 'survey and report per part, let task 3 fail')
    await page.getByRole('listitem').filter({ hasText: 'plan:2' }).getByRole('link').click()
    await page.getByRole('link', { name: 'List' }).click()
    const row = (place: number) => page.getByRole('row', { name: new RegExp(`^${place} .* task:${place + 6} `) })
    await row(1).getByText('done').waitFor()
    await row(3).getByText('failed', { exact: true }).waitFor()
    await row(5).getByText('blocked').waitFor()
    await page.close()
  })

  test('that waits for a decision is in the badge, on Needs you and on the overview, one click from why task 3 failed', async () => {
    const page = await heddle.open('/needs')
    const card = page.getByRole('article', { name: 'Plan 2' })
    await card.getByText('has stopped').waitFor()
    await card.getByRole('link', { name: 'Decide' }).waitFor()
    await page.getByRole('link', { name: 'Needs you 1 need you' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('1 needs you').waitFor()
    await page.getByRole('link', { name: /^task 3, summarise / }).click()
    const why = page.getByRole('note', { name: 'Why it failed' })
    expect(await why.textContent()).toContain('The script failed because you asked it to')
    expect(await why.textContent()).toContain('What helps: ask for something else')
    await page.getByText(/^task 3 of 6/).waitFor()
    await page.close()
  })

  test('is walked through with the arrow keys, and Enter opens a task beside it', async () => {
    const page = await heddle.open('/plans/2')
    await page.getByRole('application', { name: /^Tasks of the plan/ }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText(/^task 1, summarise/).waitFor({ state: 'attached' })
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'write REPORT.md' }).waitFor()
    expect(new URL(page.url()).searchParams.get('task')).toBe('11')
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'write REPORT.md' }).waitFor({ state: 'detached' })
    await page.close()
  })

  test('goes on when a failed task is retried with another brief, also without a mouse', async () => {
    const page = await heddle.open('/plans/2?task=9&view=list')
    await page.getByRole('button', { name: 'Retry with…' }).press('Enter')
    const brief = page.locator('textarea:focus')
    await page.getByRole('button', { name: 'Back' }).press('Enter')
    await page.locator('button:focus', { hasText: /^Retry/ }).waitFor()
    await page.getByRole('button', { name: 'Retry with…' }).press('Enter')
    await brief.fill((await brief.inputValue()).replace(/^Fail on request.*$/m, ''))
    await page.getByRole('button', { name: 'Retry with this' }).click()
    const row = page.getByRole('row', { name: /^5 / })
    await row.getByText('needs you').waitFor()
    await row.getByRole('link', { name: /^approval:/ }).click()
    await page.getByText('asks to use write_file').waitFor()
    // It takes an answer once it has stood still for a moment.
    await page.getByRole('button', { name: 'Allow once' }).click({ trial: true })
    await page.keyboard.press('1')
    await page.getByText('Nothing needs you').waitFor()
    await page.goto(`${heddle.url}/plans/2`)
    await page.getByText('6 of 6 done').waitFor()
    expect(readFileSync(join(heddle.folder, 'REPORT.md'), 'utf8')).toContain('# Report')
    await page.close()
  })
})

describe('runs', () => {
  test('stand below the run that started them, and j, Enter and Escape walk through them', async () => {
    const page = await heddle.open('/runs')
    const request = page.getByRole('region', { name: /^Request/ }).filter({ hasText: 'let task 3 fail' })
    await request.getByRole('link', { name: 'task 3' }).first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByText('Why these?').waitFor()
    expect(page.url()).toMatch(/\/runs\/\w{20}$/)
    await page.keyboard.press('Escape')
    await page.waitForURL(/\/runs$/)
    await page.getByRole('link', { name: 'Failed' }).click()
    await page.getByText('the script failed because you asked it to').waitFor()
    expect(
      await page
        .getByRole('region', { name: /^Request/ })
        .getByRole('listitem')
        .count(),
    ).toBe(1)
    await page.close()
  })

  test('tell their model and tools with the reason, and show themselves as tree, time and log', async () => {
    const page = await heddle.open('/runs?show=failed')
    await page.getByRole('link', { name: '@researcher' }).click()
    await page.getByRole('note', { name: 'Why it failed' }).waitFor()
    await page.getByText('the default: no other one was asked for').waitFor()
    await page.getByText('Why these?').click()
    await page.getByText(/nothing may have more than the run that started it/).waitFor()
    await page.getByRole('listitem').filter({ hasText: '@project-planner' }).first().waitFor()
    await page.getByRole('link', { name: 'Time' }).click()
    await page.getByText(/in all/).waitFor()
    await page.getByRole('link', { name: '@project-planner' }).click()
    await page.getByRole('link', { name: 'Log' }).click()
    await page.locator('summary').filter({ hasText: 'plan_tasks' }).last().click()
    await page.getByText('Output', { exact: true }).last().waitFor()
    await page.close()
  })

  test('are undone after a look at what that changes', async () => {
    await heddle.heddle('ask', '--no-wait', 'write NOTES.md: buy milk')
    const page = await heddle.open('/needs')
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Nothing needs you').waitFor()
    await page.goto(`${heddle.url}/runs`)
    const request = page.getByRole('region', { name: /^Request/ }).filter({ hasText: 'buy milk' })
    await request.getByRole('link', { name: '@writer' }).click()
    await page.getByText(/written, sha/).waitFor()
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByText('Goes back to what it was before').waitFor()
    expect(existsSync(join(heddle.folder, 'NOTES.md'))).toBe(true)
    await page.getByRole('button', { name: 'Restore 1 file' }).click()
    await page.getByText('undone').waitFor()
    expect(existsSync(join(heddle.folder, 'NOTES.md'))).toBe(false)
    await page.close()
  })

  test('are cancelled with the reason while they wait', async () => {
    await heddle.heddle('ask', '--no-wait', 'write LATER.md: buy bread')
    const page = await heddle.open('/runs?show=running')
    await page.getByRole('link', { name: '@writer' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel(/^Why\?/).fill('no bread today')
    await page.getByRole('button', { name: 'Cancel it' }).click()
    await page.getByText('no bread today').first().waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    await page.close()
  })
})

describe('every view of the work', () => {
  test.each(looks)('is without a finding of axe and fits (%s, %i px)', async (theme, width) => {
    const page = await heddle.open('/runs?show=failed', { theme, width })
    const run = await page.getByRole('link', { name: '@researcher' }).first().getAttribute('href')
    const findings: string[] = []
    const views = [
      ['/runs', 'survey and report'],
      [`${run}?view=time`, 'in all'],
      ['/plans/2?view=list&task=9', 'Brief'],
      [`${run}?view=tree`, '@coordinator'],
      ['/plans', 'REPORT.md by'],
      ['/plans/2?view=picture', 'Fit'],
    ] as const
    for (const [path, sign] of inTurn(views, 1)) {
      await page.goto(`${heddle.url}${path}`)
      await page.getByText(sign).first().waitFor()
      findings.push(...(await axeFindings(page)).map((finding) => `${path}: ${finding}`))
      if (await isTooWide(page)) findings.push(`${path}: too wide`)
      findings.push(...(await brokenWords(page)).map((word) => `${path}: ${word} is broken over two lines`))
    }
    expect(findings).toEqual([])
    await page.close()
  })

  test('causes no violation of the content policy, no error and no request to elsewhere', () => {
    expect(heddle.troubles).toEqual([])
  })
})
