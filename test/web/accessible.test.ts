import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
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
})
afterAll(() => heddle.close())

describe('every page', () => {
  const pages = [
    '/',
    '/s/main',
    '/turns',
    '/compare/left...right',
    '/why/NOTES.md:1',
    '/usage',
    '/agents/writer',
    '/skills/coder',
    '/doctor',
    '/welcome',
    '/nowhere',
  ]
  const places = inTurn(pages, 3)

  test.each(looks)('is accessible in %s at %i px', async (theme, width) => {
    const page = await heddle.open('/', { theme, width, ...(width < 760 && { height: 844 }) })
    const found: Record<string, unknown> = {}
    for (const path of places) {
      await page.goto(`${heddle.url}${path}`)
      await page.locator('main h1').waitFor()
      await page.getByText('Loading…').waitFor({ state: 'detached' })
      found[path] = { axe: await axeFindings(page), isTooWide: await isTooWide(page), broken: await brokenWords(page) }
    }
    expect(found).toEqual(Object.fromEntries(places.map((path) => [path, { axe: [], isTooWide: false, broken: [] }])))
    await page.close()
  })

  test('has broken no rule of the content policy, thrown nothing and asked nobody else', () => {
    expect(heddle.troubles).toEqual([])
  })
})
