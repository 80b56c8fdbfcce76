import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import type { Worker } from '../../src/engine/run/worker/worker.ts'
import { why } from '../../src/engine/why/why.ts'
import type { Store } from '../../src/store/store.ts'
import type { Database } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'
import { type Hands, newHands, planned } from './hands.ts'
import { unconfinedExec } from './unconfined-exec.ts'

type Calls = Parameters<typeof planned>[0][string][number]

export const threeLines = 'first line of all\nsecond line of all\nthird line of all\n'

/**
 * A folder for each test of a group, in which agents write, commands run and hands change files; `why` answers about them.
 * Each run has a session of its own.
 */
export function commandHands(database: Database, moreTools: (pool: () => Hands) => Tool[] = () => []) {
  let pool: Hands
  let plans: Record<string, Calls[]>
  let said: number
  let elsewhere: string
  let worker: Worker
  beforeEach(async () => {
    plans = {}
    said = 0
    elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-elsewhere-')))
    pool = await newHands(database, planned(plans), [await unconfinedExec(), ...moreTools(() => pool)])
    worker = await pool.work()
  })
  afterEach(async () => {
    expect(pool.troubles).toEqual([])
    await pool.remove()
    rmSync(elsewhere, { recursive: true, force: true })
  })
  const sayIn = (folder: string, ...calls: Calls) => {
    const words = `do ${++said}`
    plans[words] = [calls]
    return pool.ask(words, `session-${said}`, folder)
  }
  const say = (...calls: Calls) => sayIn(pool.folder, ...calls)
  /** Says these words in a session, which the model answers with so many replies of calls. */
  const talk = (label: string, words: string, ...replies: Calls[]) => {
    plans[words] = replies
    return pool.ask(words, label)
  }
  const ask = (reference: string, folder = pool.folder, store: Store = pool.engine.store) =>
    why({ store, protect: nothingProtected, budget: { usd: 5, tokens: 1000 } }, folder, reference)
  return {
    pool: () => pool,
    /** A folder that no session works in. */
    elsewhere: () => elsewhere,
    /** A path in the session's folder. */
    at: (path: string) => join(pool.folder, path),
    say,
    sayIn,
    talk,
    exec: (command: string) => say({ name: 'exec', input: { command } }),
    /** A command that has done its work and waits. */
    async begin(command: string) {
      const words = `do ${++said}`
      const [done, go] = [join(elsewhere, `done-${said}`), join(elsewhere, `go-${said}`)]
      execFileSync('mkfifo', [go])
      plans[words] = [[{ name: 'exec', input: { command: `${command}; touch '${done}'; cat '${go}'` } }]]
      const { runId } = await pool.say(words, { folder: pool.folder, label: `session-${said}` })
      await untilSo(() => existsSync(done))
      return { runId: runId ?? '', finish: () => writeFileSync(go, '') }
    },
    /** Stops the worker in the middle of what it does, as a restart does, and starts another one. */
    async restart() {
      await worker.stop()
      worker = await pool.work()
    },
    ask,
    author: async (reference: string) => (await ask(reference)).file?.author,
    /** How each link of the chain leads to the next. */
    way: async (reference: string, folder?: string) =>
      (await ask(reference, folder)).chain.map(({ how, id }) => `${how} ${id}`),
  }
}
