import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { runInProcess } from '../cli/in-process.ts'
import { cachedCode } from '../setup/built-heddle.ts'
import { inTurn, today } from '../setup/long.ts'
import { node } from '../setup/node.ts'
import { ensurePackages, findProgram, installIfOffered } from '../setup/packages.ts'
import { builtWithPage } from './built-page.ts'

/** How pages are looked at: one of the ways for a week, in which each page has its turn. */
export const looks = inTurn(
  [
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const,
  1,
  Math.floor(today / 7),
)

/** For what never comes. Shorter than the limit of a test, so that it tells what it waited for. */
const patience = 100_000

const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8')

/** A real daemon with the rehearsal model, and a browser that is signed in to it. */
export interface TestPage {
  url: string
  folder: string
  /** A signed-in context of its own; tabs of one context share a user, as windows of a browser do. */
  context(options?: PageOptions): Promise<BrowserContext>
  open(path: string, options?: PageOptions): Promise<Page>
  /** Sends a request as the page would, and gives the answer. */
  post<T>(path: string, body: object): Promise<T>
  /** Adds a turn to a session of the folder. */
  append(session: string, user: string, assistant: string): Promise<void>
  /** Waits for the next question of a run and answers it with a yes, as it is shown. */
  approveNext(): Promise<void>
  /** Runs a command of the same home and gives what it printed. */
  heddle(...args: string[]): Promise<string>
  /** Ends the daemon as a power cut would; `start` starts it again on the same port. */
  stop(): Promise<{ start(): Promise<void> }>
  restart(): Promise<void>
  /** Violations of the content policy, errors of scripts and requests to elsewhere, on all pages so far. */
  readonly troubles: string[]
  close(): Promise<void>
}

interface PageOptions {
  theme?: 'light' | 'dark'
  width?: number
  height?: number
}

/** Files that a folder begins with, by path. */
type Files = Record<string, string>

interface TestPageOptions {
  files?: Files
  /** Address of a provider whose model answers; without one, the rehearsal. */
  model?: string
  /** Fills the home before the daemon starts. */
  fill?(home: string, folder: string): Promise<void>
  /** The browser optimises code as that of a user does: times are measured. */
  isMeasured?: boolean
}

const sampleFiles: Files = {
  'README.md': '# Shop\n\nA small shop.\n',
  'src/api/server.ts': 'export const port = 8080 // TODO read it from the environment\n',
  'src/api/routes.ts': "export const routes = ['/cart', '/pay']\n",
  'src/db/orders.sql': 'CREATE TABLE orders (id INTEGER PRIMARY KEY)\n',
  'src/web/page.ts': 'export const title = "Shop" // TODO translate\n',
}

/** Starts a daemon for a test file; all files of a worker share its browser. */
export async function startTestPage(options: TestPageOptions = {}): Promise<TestPage> {
  const { files = sampleFiles, model, fill, isMeasured = false } = options
  browser ??= launchBrowser(isMeasured)
  const launched = browser
  const bin = await builtWithPage()
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-web-')))
  const folder = join(root, 'shop')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const env = { ...cachedCode, PATH: process.env['PATH'], HOME: root, HEDDLE_HOME: join(root, 'home') }
  const run = (...args: string[]) => spawn(node[0], [...node.slice(1), bin, ...args], { cwd: folder, env })
  const heddle = async (...args: string[]) => {
    const { code, out, err } = await runInProcess(args, { env, cwd: folder, input: '' })
    if (code !== 0 && args[0] !== 'ask') throw new Error(`heddle ${args.join(' ')}: ${err}${out}`)
    return `${err}${out}`
  }
  if (model !== undefined) {
    await heddle('init')
    const setting = `provider: openai-compatible, baseURL: "${model}", model: tiny`
    writeFileSync(join(root, 'home/heddle.yaml'), `models:\n  main: { ${setting} }\n`)
  }
  await fill?.(env.HEDDLE_HOME, folder)
  let daemon = await startDaemon(run('up', '--port', '0'))
  const { url } = daemon
  const troubles: string[] = []
  const open = new Set<BrowserContext>()
  const context: TestPage['context'] = async (options = {}) => {
    const made = await newContext(await launched, options)
    open.add(made)
    await watchTroubles(made, url, troubles)
    const link = (await heddle('open', '--print')).trim().split('\n').at(-1) ?? ''
    const page = await made.newPage()
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    // It stays open, on what runs nothing: with its last page the process of a site would end, and start anew for the next.
    await page.goto(`${url}/icon.svg`)
    return made
  }
  const stop = async () => {
    daemon.child.kill('SIGKILL')
    await endOf(daemon.child)
    const start = async () => {
      daemon = await startDaemon(run('up', '--port', new URL(url).port))
    }
    return { start }
  }
  const contexts = new Map<string, Promise<BrowserContext>>()
  const sharedContext = (options: PageOptions) => {
    const key = JSON.stringify(options)
    const shared = contexts.get(key) ?? context(options)
    contexts.set(key, shared)
    return shared
  }
  const post: TestPage['post'] = async (path, body) => {
    const { request } = await sharedContext({})
    const answer = await request.post(`${url}${path}`, { data: body, headers: { origin: url } })
    if (!answer.ok()) throw new Error(`${path}: ${await answer.text()}`)
    return answer.json()
  }
  const approveNext = async () => {
    const page = await (await sharedContext({})).newPage()
    await page.goto(`${url}/s/main`)
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor({ state: 'detached' })
    await page.close()
  }
  return {
    post,
    approveNext,
    async append(session, user, assistant) {
      const draft = { query: [{ content: user }], response: { content: assistant } }
      await post('/v1/turns', { folder, session, draft })
    },
    url,
    folder,
    context,
    heddle,
    troubles,
    async open(path, options = {}) {
      const page = await (await sharedContext(options)).newPage()
      await page.goto(`${url}${path}`)
      return page
    },
    stop,
    async restart() {
      await (await stop()).start()
    },
    async close() {
      for (const made of open) await made.close()
      daemon.child.kill('SIGTERM')
      await endOf(daemon.child)
      rmSync(root, { recursive: true, force: true })
    },
  }
}

let browser: Promise<Browser> | undefined

/** Ends with its worker, whose pipe it reads. */
function launchBrowser(isMeasured: boolean): Promise<Browser> {
  // Fewer processes: what isolates one site from another is not what is tested here.
  const together = ['--in-process-gpu', '--enable-features=NetworkServiceInProcess2']
  const oneForAll = ['--process-per-site', '--disable-site-isolation-trials']
  // A page of a test is gone before optimised code is worth its compilation, which is an eighth of its processor time.
  const unoptimised = isMeasured ? [] : ['--js-flags=--no-opt --no-maglev']
  return chromium.launch({
    executablePath: findBrowser(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...together, ...oneForAll, ...unoptimised],
  })
}

/** The headless shell is the same engine without the windows of a desktop browser, for a third less processor time. */
function findBrowser(): string {
  installIfOffered('chromium-headless-shell')
  const shell = findProgram('chromium-headless-shell')
  if (shell === undefined) ensurePackages(['chromium'])
  return shell ?? findProgram('chromium') ?? '/usr/bin/chromium'
}

/** For a program that is no test, and ends only without it. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
  browser = undefined
}

async function newContext(browser: Browser, { theme = 'light', width = 1440, height = 900 }: PageOptions) {
  const isPhone = width < 760
  const made = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    ...(isPhone && { hasTouch: true, isMobile: true }),
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  made.setDefaultTimeout(patience)
  return made
}

/** Collects what must not happen on any page. */
async function watchTroubles(context: BrowserContext, url: string, troubles: string[]): Promise<void> {
  await context.exposeBinding('heddleTrouble', (_, text: string) => void troubles.push(text))
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      const { heddleTrouble } = window as unknown as { heddleTrouble(text: string): void }
      heddleTrouble(`content policy: ${violatedDirective} ${blockedURI} ${sourceFile}`)
    })
  })
  context.on('weberror', (error) => void troubles.push(`error: ${error.error().message}`))
  context.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) troubles.push(`request to ${request.url()}`)
  })
}

/** Findings of axe on a page, as lines. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`)
  })
}

/** Whether the page is wider than the window. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
}

/** Words of a page that are broken over two lines: there was no room for them. */
export function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      for (const { 0: word, index } of (text.textContent ?? '').matchAll(/(?<![^\s(])@?[a-z]{2,14}(?![^\s.,:;)])/gi)) {
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word)
      }
    return found
  })
}

async function startDaemon(child: ChildProcess): Promise<{ child: ChildProcess; url: string }> {
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`heddle up ended: ${said}`)))
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const [, found] = /"url":"(http:[^"]+)"/.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
  })
  return { child, url }
}

function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('close', (code) => resolve(code)))
}
