import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { untilSo } from '../test/setup/until.ts'
import { closeBrowser, startTestPage } from '../test/web/browser.ts'

// Takes the screenshots of README and the guides from a real daemon with the rehearsal model: npm run screens
const directory = join(import.meta.dirname, '../docs/guide/screens')
mkdirSync(directory, { recursive: true })

const heddle = await startTestPage()
const phone = { width: 390, height: 844 }

async function take(page: Page, name: string): Promise<void> {
  await page.locator('main h1').waitFor()
  await page.getByText('Loading…').waitFor({ state: 'detached' })
  await page.screenshot({ path: join(directory, `${name}.png`) })
}

async function takeAt(path: string, name: string, options = {}): Promise<void> {
  const page = await heddle.open(path, options)
  await take(page, name)
  await page.close()
}

/** Takes a page on which a call waits for an answer, once an answer can be given. */
async function takeAsking(path: string, name: string, options = {}): Promise<void> {
  const page = await heddle.open(path, options)
  await page.locator('button:enabled', { hasText: 'Allow once' }).first().waitFor()
  await take(page, name)
  await page.close()
}

async function send(page: Page, text: string): Promise<void> {
  await page.locator('#message').fill(text)
  await page.locator('#message').press('Enter')
}

try {
  await takeAt('/welcome', 'welcome')
  const chat = await heddle.open('/s/main')
  await send(chat, 'find "TODO" in src')
  await chat
    .getByText(/"TODO" in src: 2/)
    .last()
    .waitFor()
  await send(chat, 'survey and report per part')
  await chat.locator('button:enabled', { hasText: 'Allow once' }).waitFor()
  await take(chat, 'chat')
  await takeAsking('/s/main', 'chat-dark', { theme: 'dark' })
  await takeAsking('/s/main', 'chat-phone', phone)
  await chat.getByRole('button', { name: 'Allow once' }).click()
  await chat.getByText('asks to use write_file').waitFor()
  await heddle.heddle('ask', '--no-wait', '-s', 'second', 'survey and report per part, let task 3 fail')
  await untilSo(async () => (await heddle.heddle('status', '--json')).includes('"plan:2"'))
  await takeAt('/', 'overview')
  await takeAt('/', 'overview-dark', { theme: 'dark' })
  await takeAt('/plans/1', 'plan')
  await takeAt('/runs', 'runs')
  await takeAsking('/needs', 'needs')
  await takeAsking('/needs', 'needs-phone', phone)
  await chat.getByRole('button', { name: 'Allow once' }).click()
  await chat.getByText(/plan:1: 6 completed/).waitFor()
  await heddle.post('/v1/turns/fork', { folder: heddle.folder, turn: 'main', label: 'second-try' })
  await send(chat, 'outline README.md')
  await chat.getByText('Shop').last().waitFor()
  const fork = await heddle.open('/s/second-try')
  await send(fork, 'count lines in src/api/server.ts')
  await fork
    .getByText(/server.ts: 1 line/)
    .last()
    .waitFor()
  await fork.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  await take(fork, 'fork')
  await takeAt('/compare/main...second-try', 'compare')
  await takeAt('/turns', 'turns')
  await takeAt('/why/REPORT.md:5', 'why')
  await takeAt('/usage', 'usage')
  await takeAt('/doctor', 'doctor')
  await heddle.heddle('cron', 'add', '--cron', '30 8 * * 1-5', '--name', 'morning', '--message', 'summarise src')
  await heddle.heddle('cron', 'run', '1')
  await takeAt('/cron', 'cron')
} finally {
  await heddle.close()
  await closeBrowser()
}
