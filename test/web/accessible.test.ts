import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'
import { axeFindings, brokenWords, isTooWide, looks, startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
  // A file with a history: asked for, approved, written.
  const asked = heddle.heddle('ask', 'write NOTES.md: buy milk')
  await heddle.approveNext()
  await asked
  await heddle.append(
    'left',
    'which port?',
    '# Ports\n\n| port | for |\n|---|---|\n| 8080 | api |\n\n```ts\nlisten(8080)\n```',
  )
  await heddle.post('/v1/turns/fork', { folder: heddle.folder, turn: 'left', label: 'right' })
  await heddle.append('right', 'and in production?', '8443, behind the proxy')
  await heddle.heddle('memory', 'add', 'the port is 8443')
  await heddle.heddle('cron', 'add', '--every', 'weekday at 08:30', '--message', 'summarise src')
  // A plan that waits for its approval.
  const plan = { folder: heddle.folder, session: 'plan', content: 'survey and report per part', attended: true }
  await heddle.post('/v1/inputs', plan)
  await untilSo(async () => (await heddle.heddle('approvals')).includes('run_project'))
})
afterAll(() => heddle.close())

/** The page of each route with something to see, by the path of the route. */
const pages: Record<string, () => string | Promise<string>> = {
  '/': () => '/',
  '/s/:session/:turn?': () => '/s/plan',
  '/needs/:id?': () => '/needs',
  '/runs': () => '/runs',
  '/runs/:id': async () => `/runs/${(await newestTurn()).runId}`,
  '/plans': () => '/plans',
  '/plans/:id': () => '/plans/1?view=list',
  '/tasks/:id': () => '/tasks/1',
  '/turns': () => '/turns',
  '/t/:id': async () => `/t/${(await newestTurn()).id}`,
  '/compare/:pair': () => '/compare/left...right',
  '/why/*': () => '/why/NOTES.md:1',
  '/agents': () => '/agents',
  '/agents/registry': () => '/agents/registry',
  '/agents/:name': () => '/agents/writer',
  '/skills/:name?': () => '/skills/coder',
  '/memory/:id?': () => '/memory/1',
  '/cron': () => '/cron',
  '/usage': () => '/usage',
  '/doctor': () => '/doctor',
  '/welcome': () => '/welcome',
  'any other address': () => '/nowhere',
}

async function newestTurn(): Promise<{ id: string; runId: string }> {
  return JSON.parse(await heddle.heddle('show', '--json', 'main')) as { id: string; runId: string }
}

describe('every page', () => {
  // Four a day: in a week each route has its turn, before the next look begins.
  const shown = inTurn(Object.keys(pages), 4)

  test('has its place in this list', () => {
    const table = readFileSync(join(import.meta.dirname, '../../web/src/app/routes.ts'), 'utf8')
    const routes = [...table.matchAll(/path: '([^']+)'/g)].map(([, path]) => path)
    expect(Object.keys(pages)).toEqual([...routes, 'any other address'])
  })

  test.each(looks)('is accessible in %s at %i px', async (theme, width) => {
    const page = await heddle.open('/', { theme, width, ...(width < 760 && { height: 844 }) })
    const found: Record<string, unknown> = {}
    for (const route of shown) {
      await page.goto(`${heddle.url}${await pages[route]?.()}`)
      await page.locator('main h1').waitFor()
      await untilSo(async () => (await page.getByText('Loading…').count()) === 0)
      found[route] = { axe: await axeFindings(page), isTooWide: await isTooWide(page), broken: await brokenWords(page) }
    }
    expect(found).toEqual(Object.fromEntries(shown.map((route) => [route, { axe: [], isTooWide: false, broken: [] }])))
    await page.close()
  })

  test('has broken no rule of the content policy, thrown nothing and asked nobody else', () => {
    expect(heddle.troubles).toEqual([])
  })
})
