import type { CDPSession, Page } from 'playwright-core'
import { startProvider } from '../../src/testing.ts'
import { closeBrowser, startTestPage } from '../../test/web/browser.ts'
import { type Figure, figure, quantileFigure } from '../figures.ts'
import { openHome } from '../home.ts'
import { insertPlanRows } from '../plan-rows.ts'
import { layered } from '../plans-script.ts'
import { draftOf, growBy } from '../scratch.ts'
import { zeroLatencyModel } from '../zero-latency.ts'

const turns = 10_000
const ofOneSession = 5_000
const runs = 1_000
const sessions = 100
const tasks = 500
const loads = 7
const events = 100
/** About two a second, as when several runs work. */
const pauseOfEvents = 500
const secondsOfMotion = 3

/** 40 kB with what makes Markdown dear: lists, code, a table. */
const longAnswer = Array.from(
  { length: 130 },
  (_, part) =>
    `## Part ${part}\n\nA paragraph of **plain** words with \`code\`, and [a link](https://example.com/${part}).\n\n` +
    '- one\n- two\n- three\n\n```ts\nexport const answer = 42 // and why\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n' +
    'More words follow here, so that it reads like an answer.\n\n'.repeat(2),
).join('')

const views = [
  { path: '/', name: 'Overview' },
  { path: '/s/long', name: `Chat of ${ofOneSession} turns` },
  { path: '/runs', name: 'Runs' },
  { path: '/turns', name: 'Turns' },
  { path: '/plans/1', name: `Plan of ${tasks} tasks` },
]

// Measures the page in a browser that draws with the processor, over a home that has been in use for a while, and prints
// the figures. A program of its own: what it hands to the browser is checked with the browser's types.
const provider = await startProvider({ answer: () => ({ text: longAnswer, faults: { pieceBytes: 400, pause: 10 } }) })
const heddle = await startTestPage({ model: provider.url, fill, isMeasured: true })
try {
  const figures: Figure[] = []
  for (const { path, name } of views) figures.push(await measureFirstView(path, name))
  figures.push(await measureGraph(), await measureList(), await measureEvents(), await measureAnswer())
  process.stdout.write(`${JSON.stringify(figures)}\n`)
} finally {
  await heddle.close()
  await closeBrowser()
  await provider.close()
}

async function fill(home: string, folder: string): Promise<void> {
  const app = await openHome({ home, model: zeroLatencyModel(), durability: 'normal' })
  const work = await app.work()
  const labels = Array.from({ length: sessions }, (_, number) => `session-${number}`)
  for (let asked = 0; asked < runs; asked += labels.length)
    await Promise.all(
      labels.map(async (session) => {
        const { itemId } = await app.submit(folder, { session, content: `question ${asked}` })
        await app.answer(folder, itemId, new AbortController().signal)
      }),
    )
  const add = (session: string) => app.append(folder, { session, draft: draftOf(670) })
  await growBy(add, ['long'], ofOneSession)
  await growBy(add, labels, turns - ofOneSession - runs)
  const [run] = (await app.runs({ all: true, limit: 1 })).rows
  await work.stop()
  await app.close()
  await insertPlanRows(home, run?.id ?? '', layered(Array.from({ length: tasks / 20 }, () => 20)))
}

/** Time from the navigation, with nothing in the browser's cache, until the page shows what it is about and can be used. */
async function measureFirstView(path: string, name: string): Promise<Figure> {
  const page = await heddle.open('/welcome')
  const devTools = await page.context().newCDPSession(page)
  const times: number[] = []
  for (let load = 0; load < loads; load++) times.push(await firstView(page, devTools, `${heddle.url}${path}`))
  await page.close()
  const how = `${turns} turns, ${runs} runs; empty cache, ${loads} loads`
  return figure(`${name}: first view`, 'ms', { atMost: 1000 }, times, how)
}

async function firstView(page: Page, devTools: CDPSession, url: string): Promise<number> {
  await page.goto('about:blank')
  await devTools.send('Network.clearBrowserCache')
  await page.goto(url, { waitUntil: 'commit' })
  const time = await page.waitForFunction(
    () => {
      const main = document.querySelector('main')
      const isThere = main?.querySelector('h1') && !main.textContent.includes('Loading…')
      return isThere && performance.now()
    },
    undefined,
    { polling: 'raf', timeout: 30_000 },
  )
  return Number(await time.jsonValue())
}

/** Frames per second while the graph of a plan is dragged. */
async function measureGraph(): Promise<Figure> {
  const page = await heddle.open('/plans/1')
  await page.locator('canvas').waitFor()
  const rates = await framesPerSecond(page, 'canvas')
  await page.close()
  return figure(`graph of ${tasks} tasks in motion`, 'fps', { atLeast: 30 }, rates, `${secondsOfMotion} s, no GPU`)
}

/** Frames per second while the list of all turns, with their tree, is scrolled. */
async function measureList(): Promise<Figure> {
  const page = await heddle.open('/turns')
  const list = 'section[aria-label^="Turns"]'
  await page.locator(`${list} a`).first().waitFor()
  const rates = await framesPerSecond(page, list)
  const depth = await page.locator(list).evaluate((section) => section.scrollTop)
  await page.close()
  const how = `${secondsOfMotion} s, no GPU, ${Math.round(depth)} px down`
  return figure(`tree of ${turns} turns in motion`, 'fps', { atLeast: 30 }, rates, how)
}

/** Moves something in each frame, a picture by its wheel and a list by scrolling; answers the frames of each half second. */
function framesPerSecond(page: Page, selector: string): Promise<number[]> {
  return page.locator(selector).evaluate(async (element, seconds) => {
    const rates: number[] = []
    for (let half = 0; half < seconds * 2; half++) {
      const begun = performance.now()
      const deltaX = half % 2 === 0 ? 15 : -15
      let drawn = 0
      while (performance.now() - begun < 500) {
        if (element instanceof HTMLCanvasElement)
          element.dispatchEvent(
            new WheelEvent('wheel', { deltaX, deltaY: deltaX / 3, bubbles: true, cancelable: true }),
          )
        else element.scrollBy(0, 240)
        await new Promise(requestAnimationFrame)
        drawn += 1
      }
      rates.push((drawn / (performance.now() - begun)) * 1000)
    }
    return rates
  }, secondsOfMotion)
}

/** From the answer that a turn is stored until its words are drawn. */
async function measureEvents(): Promise<Figure> {
  const page = await heddle.open('/s/live')
  await heddle.append('live', 'first', 'first')
  await page.getByRole('article', { name: 'Turn 1' }).waitFor()
  await page.evaluate(() => {
    const seen: Record<string, number> = {}
    Object.assign(window, { heddleSeen: seen })
    const look = () => {
      for (const [name] of document.body.textContent.matchAll(/event-\d+-/g)) seen[name] ??= Date.now()
    }
    new MutationObserver(() => requestAnimationFrame(look)).observe(document.body, {
      childList: true,
      characterData: true,
      subtree: true,
    })
  })
  const stored: number[] = []
  for (let event = 0; event < events; event++) {
    await page.waitForTimeout(pauseOfEvents * (0.5 + Math.random()))
    await heddle.append('live', `event-${event}-`, 'noted')
    stored.push(Date.now())
    await page.waitForFunction(
      (name) => name in (window as unknown as { heddleSeen: object }).heddleSeen,
      `event-${event}-`,
    )
  }
  const seen = await page.evaluate(() => (window as unknown as { heddleSeen: Record<string, number> }).heddleSeen)
  await page.close()
  const late = stored.map((at, event) => Math.max(0, (seen[`event-${event}-`] ?? Number.NaN) - at))
  return quantileFigure(
    'event to screen, p95',
    'ms',
    { atMost: 100 },
    late,
    0.95,
    `${events} turns, about two a second`,
  )
}

/** The longest task of the browser's main thread while an answer streams in. */
async function measureAnswer(): Promise<Figure> {
  const page = await heddle.open('/s/words')
  await page.locator('#message').fill('tell me all of it')
  await page.evaluate(() => {
    const long: number[] = []
    Object.assign(window, { heddleLong: long })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) long.push(duration)
    }).observe({ entryTypes: ['longtask'] })
  })
  await page.locator('#message').press('Enter')
  const turn = page.getByRole('article', { name: 'Turn 1' })
  await turn.getByText('Part 129').waitFor({ timeout: 120_000 })
  const long = await page.evaluate(() => (window as unknown as { heddleLong: number[] }).heddleLong)
  await page.close()
  const size = `${Math.round(longAnswer.length / 1000)} kB; ${long.length} tasks over 50 ms`
  return figure('longest task while an answer streams', 'ms', { atMost: 100 }, [Math.max(0, ...long)], size)
}
