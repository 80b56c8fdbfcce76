import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'
import { startTestPage, type TestPage } from './browser.ts'

let heddle: TestPage
beforeAll(async () => {
  heddle = await startTestPage()
})
afterAll(() => heddle.close())

/** A browser opens at most six connections to a host: with ten tabs that each had one, the last would get no answer. */
const tabCount = isLong ? 10 : 3

const turns = (page: Page) => page.getByRole('article', { name: /^Turn/ })

const say = (session: string, text: string) => heddle.append(session, text, `noted: ${text}`)

describe('the live stream', () => {
  test('tabs share one connection, and each shows what happens, also after the first one is closed', async () => {
    const context = await heddle.context()
    const streams = new Set<string>()
    context.on('request', (request) => {
      if (new URL(request.url()).pathname === '/v1/events') streams.add(request.url())
    })
    const tabs: Page[] = []
    for (let at = 0; at < tabCount; at++) {
      const tab = await context.newPage()
      await tab.goto(`${heddle.url}/s/tabs`)
      await tab.locator('#message').waitFor()
      tabs.push(tab)
    }
    await say('tabs', 'first')
    for (const tab of tabs) await tab.getByText('noted: first').waitFor()
    expect(streams.size).toBe(1)
    await tabs.shift()?.close()
    await say('tabs', 'second')
    for (const tab of tabs) await tab.getByText('noted: second').waitFor()
    for (const tab of tabs) expect(await turns(tab).count()).toBe(2)
    await context.close()
  })

  test('a tab that hears again that it missed something, while it reads what it missed, reads on and fails nowhere', async () => {
    const context = await heddle.context()
    const [first, second] = [await context.newPage(), await context.newPage()]
    for (const tab of [first, second]) {
      await tab.goto(`${heddle.url}/s/missed`)
      await tab.locator('#message').waitFor()
    }
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let readings = 0
    await second.route('**/v1/events/page*', async (route) => {
      readings++
      await held
      await route.continue()
    })
    await first.evaluate(async () => {
      const { principal } = await (await fetch('/v1/me')).json()
      const channel = new BroadcastChannel(`heddle-live:${principal}`)
      const message = { kind: 'state', connection: { state: 'live' }, cursor: 'of an event that was missed', texts: [] }
      for (let time = 0; time < 3; time++) channel.postMessage(message)
    })
    await untilSo(() => readings === 1)
    await say('missed', 'one')
    release()
    await second.getByText('noted: one').waitFor()
    expect(readings).toBe(2)
    expect(heddle.troubles).toEqual([])
    await context.close()
  })

  test('after a cut, a reload and a kill of the daemon the page shows everything once', async () => {
    const page = await heddle.open('/s/cut')
    await page.locator('#message').fill('typed before the cut')
    await say('cut', 'one')
    await page.getByText('noted: one').waitFor()
    await heddle.restart()
    await say('cut', 'two')
    await page.getByText('noted: two').waitFor()
    await page.reload()
    await page.getByText('noted: two').waitFor()
    await say('cut', 'three')
    await page.getByText('noted: three').waitFor()
    expect(await turns(page).count()).toBe(3)
    expect(await page.locator('#message').inputValue()).toBe('typed before the cut')
    await page.close()
  })

  test('a lost connection is told in words until the page connects again by itself, also where an answer was given', async () => {
    await heddle.heddle('ask', '--no-wait', '-s', 'lost', 'write LOST.md: milk')
    const page = await heddle.open('/s/lost')
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    const cut = await heddle.stop()
    const line = await page.getByText(/Not connected since/).boundingBox()
    const header = await page.locator('main header').first().boundingBox()
    expect(header?.y).toBeGreaterThanOrEqual((line?.y ?? 0) + (line?.height ?? Number.NaN) - 1)
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText(/Nothing was sent on. Heddle does not answer. Start it with heddle up/).waitFor()
    await cut.start()
    await page.getByText(/Not connected since/).waitFor({ state: 'detached' })
    await page.getByText(/Nothing was sent on/).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor({ state: 'detached' })
    await page.getByText('@writer is done').first().waitFor()
    await say('lost', 'after')
    await page.getByText('noted: after').waitFor()
    await page.close()
  })

  test('what was not loaded when the connection was lost opens by itself when it is back', async () => {
    const page = await heddle.open('/s/lost')
    await page.locator('#message').waitFor()
    const cut = await heddle.stop()
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.keyboard.press('Control+k')
    await page.getByText(/Not connected since/).waitFor()
    expect(await page.getByRole('link', { name: 'Usage' }).count()).toBe(1)
    await cut.start()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.close()
  })

  test('a session that was signed out elsewhere says so', async () => {
    const context = await heddle.context()
    const page = await context.newPage()
    await page.goto(`${heddle.url}/s/main`)
    await page.locator('#message').waitFor()
    await page.evaluate(() => fetch('/v1/sign-out', { method: 'POST' }))
    await page.getByText(/You are signed out/).waitFor()
    await page.reload()
    await page.getByText('You are not signed in').waitFor()
    await context.close()
  })
})
