import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProvider } from '../../src/testing.ts'
import { inTurn } from '../setup/long.ts'
import { startTestPage, type TestPage } from './browser.ts'

/** Ways to make a page run, load or show something that is not its own. Each would set `window.broken`. */
const payloads = [
  '<script>window.broken=1</script>',
  '<img src=x onerror="window.broken=1">',
  '<svg onload="window.broken=1"></svg>',
  '<svg><script>window.broken=1</script></svg>',
  '<iframe srcdoc="<script>parent.broken=1</script>"></iframe>',
  '<iframe src="javascript:parent.broken=1"></iframe>',
  '<a href="javascript:window.broken=1">a</a>',
  '<details open ontoggle="window.broken=1">',
  '<style>@import "http://evil.example/x.css";*{display:none}</style>',
  '<link rel=stylesheet href="http://evil.example/x.css">',
  '<meta http-equiv=refresh content="0;url=http://evil.example/">',
  '<base href="http://evil.example/">',
  '<form action="http://evil.example/"><button>Allow once</button></form>',
  '<object data="http://evil.example/x"></object>',
  '<embed src="http://evil.example/x">',
  '<video src="http://evil.example/x" onerror="window.broken=1"></video>',
  '<math><mtext><img src=x onerror=window.broken=1></mtext></math>',
  '[click](javascript:window.broken=1)',
  '[click](JaVaScRiPt:window.broken=1)',
  '[click](data:text/html,<script>window.broken=1</script>)',
  '[click](vbscript:window.broken=1)',
  '[click](//evil.example/x)',
  '[approve](/needs/1)',
  '![image](http://evil.example/pixel.png)',
  '![image](x "onerror=window.broken=1")',
  '[a]: javascript:window.broken=1\n\n[a]',
  '<http://evil.example/\u202egnp.exe>',
  'rtl \u202e}{ drow \u2066 hidden \u2069',
  '`<script>window.broken=1</script>`',
  '```html\n<script>window.broken=1</script>\n```',
  '&lt;script&gt;window.broken=1&lt;/script&gt; &#60;img src=x onerror=window.broken=1&#62;',
  '| <img src=x onerror=window.broken=1> |\n|---|\n| <script>window.broken=1</script> |',
  '- [ ] <input autofocus onfocus="window.broken=1">',
  '{{constructor.constructor("window.broken=1")()}} #{window.broken=1}',
  'javascript:window.broken=1',
  '\u0000\u0007\u001b[31mred\u001b[0m\u200b',
]
const all = payloads.join('\n\n')

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

test('hostile text in every field that text can be in runs nothing, loads nothing, and shows no element of its own', async () => {
  const label = 'hostile'
  const draft = {
    query: [{ content: all }, { content: all, source: 'agent' as const }],
    response: { content: all },
    status: 'failed',
    model: { requested: payloads[0], actual: payloads[1] },
    toolCalls: payloads.map((text, at) => ({
      id: `c${at}`,
      name: text,
      input: { path: text, text },
      output: text,
      status: 'ok',
    })),
  }
  const place = { folder: heddle.folder, session: label }
  const { turnId } = await heddle.post<{ turnId: string }>('/v1/turns', { ...place, draft })
  await heddle.post('/v1/turns', { ...place, draft })
  await heddle.post('/v1/turns/fork', { folder: heddle.folder, turn: `turn:${turnId}`, label: 'plain' })
  await heddle.post('/v1/turns', { folder: heddle.folder, session: 'plain', draft })
  const session = encodeURIComponent(label)
  const one = JSON.stringify(payloads.join(' ').replaceAll('\u0000', ''))
  const file = `---\nname: hostile\ndescription: ${one}\ntools: [${one}, read_file]\ntriggers: [${one}]\nmodel: ${one}\n---\n${all}\n`
  writeFileSync(join(heddle.folder, '../home/skills/hostile.md'), file)
  writeFileSync(
    join(heddle.folder, '../home/skills/worker.md'),
    file.replace(/model: .*/, '').replace('name: hostile', 'name: worker'),
  )
  await heddle.heddle('config', 'set', 'notify.command', payloads.slice(0, 20).join(' '))
  await heddle.restart()
  const page = await heddle.open('/')
  const pages = [
    '/',
    `/s/${session}`,
    `/s/${session}/${turnId}`,
    '/turns',
    `/t/${turnId}`,
    `/compare/${session}...plain`,
    `/why/turn:${turnId}`,
    `/why/turn:${turnId}?forward`,
    `/why/${encodeURIComponent(payloads[0] ?? '')}`,
    '/usage?by=session&of=all',
    '/skills',
    '/skills/hostile',
    '/agents',
    '/agents/hostile',
    '/agents/worker',
    `/agents/${encodeURIComponent(payloads[1] ?? '')}`,
    '/doctor',
    `/${encodeURIComponent(payloads[1] ?? '')}`,
  ]
  for (const path of inTurn(pages, 4)) {
    await expectHarmless(page, `${heddle.url}${path}`)
  }
  // A link made by a text never leads into the page: only the page's own references do.
  await page.goto(`${heddle.url}/s/${session}`)
  await page.getByText('approve', { exact: true }).first().waitFor()
  expect(await page.getByRole('link', { name: 'approve', exact: true }).count()).toBe(0)
  expect(heddle.troubles).toEqual([])
})

test('hostile text of a provider, in its errors, names of models and of tools, does no more', async () => {
  const text = payloads.join(' ').replaceAll('\u0000', '')
  const replies = [
    { faults: { status: { code: 400, body: { error: { message: text, type: text, code: text } } } } },
    { text, model: text, calls: [{ id: 'c1', name: 'read_file', input: { path: text } }] },
    { text, model: text, calls: [{ id: 'c2', name: text, input: { [text]: text } }] },
    { text, model: text },
  ]
  let asked = 0
  const provider = await startProvider({ answer: () => replies[asked++] ?? { text: 'done' } })
  const other = await startTestPage({ model: provider.url })
  await other.heddle('ask', 'one')
  await other.heddle('ask', 'two')
  const { runs } = JSON.parse(await other.heddle('ps', '--all', '--json')) as { runs: { id: string }[] }
  // The narrator may have asked, too.
  expect(runs.length).toBeGreaterThanOrEqual(2)
  expect(asked).toBeGreaterThanOrEqual(replies.length)
  const page = await other.open('/')
  const ofRuns = runs.flatMap(({ id }) => [`/runs/${id}?view=log`, `/runs/${id}?view=tree`, `/why/run:${id}`])
  for (const path of ['/', '/s/main', '/turns', '/runs', '/usage?by=model', ...ofRuns])
    await expectHarmless(page, `${other.url}${path}`)
  expect(other.troubles).toEqual([])
  await other.close()
  await provider.close()
})

/** Opens a page with everything on it, and expects that no text has become anything else. */
async function expectHarmless(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('main h1').waitFor()
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  // Not by the mouse: turns outside the window have no layout until they are scrolled there.
  const opened = await page.locator('main summary').evaluateAll((all) => {
    for (const summary of all) (summary as HTMLElement).click()
    return all.every(({ parentElement }) => (parentElement as HTMLDetailsElement).open)
  })
  expect([address, opened]).toEqual([address, true])
  const found = await page.evaluate(() => ({
    broken: (window as { broken?: unknown }).broken ?? null,
    elements: [
      ...document.querySelectorAll(
        'main :is(script, iframe, object, embed, form:not([class]), img, video, math, style, link, base, meta)',
      ),
    ].map(({ outerHTML }) => outerHTML),
    handlers: [...document.querySelectorAll('*')].flatMap((element) =>
      element.getAttributeNames().filter((name) => name.startsWith('on')),
    ),
    links: [...document.querySelectorAll('main a')]
      .map((link) => link.getAttribute('href') ?? '')
      .filter((href) => !/^(\/|https?:\/\/evil\.example\/)/.test(href)),
    bidi: /[\u202a-\u202e\u2066-\u2069]/.test(document.querySelector('main')?.textContent ?? ''),
  }))
  expect({ address, ...found }).toEqual({ address, broken: null, elements: [], handlers: [], links: [], bidi: false })
}
