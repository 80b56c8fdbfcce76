import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../src/api/app.ts'
import { type Figure, figure, measure, quantile, quantileFigure, shown } from './figures.ts'
import { playedModel } from './plans-script.ts'
import type { Scratch } from './scratch.ts'
import { measureSurveys } from './why-exec.ts'
import { fillWhyHome, openHome, script } from './why-home.ts'
import { fillVersions } from './why-versions.ts'

const turns = 1_000_000
const versions = 5000
const rounds = 40

/** More than the six letters that screens show: of a million turns a few share those. */
const endOf = (id: string) => id.slice(-9)

/**
 * What explaining one thing takes in a home of a million turns and of a file with thousands of versions: inside a process, and
 * as a whole command; and what commands pay for it.
 */
export async function why(scratch: Scratch): Promise<Figure[]> {
  const home = join(scratch.directory, 'why')
  const folder = join(scratch.directory, 'why-folder')
  mkdirSync(folder)
  const here = realpathSync(folder)
  scratch.say(`a home of ${turns} turns`)
  const { turnIds, runIds, sessions } = await fillWhyHome(home, here, turns, rounds)
  scratch.say(`a file with ${versions} versions`)
  await fillVersions(home, here, 'old.txt', versions)
  const kinds = {
    turn: turnIds.map((id) => `turn:${endOf(id)}`),
    run: runIds.map((id) => `run:${endOf(id)}`),
    'bare id': turnIds.map(endOf),
    result: ['result:2', 'result:3'],
    task: ['task:1', 'task:4'],
    plan: ['plan:1'],
    memory: ['memory:1'],
    session: turnIds.map((_, at) => `session:talk-${(at * 37) % sessions}`),
    'file:line': ['REPORT.md:3', 'REPORT.md'],
    [`line of ${versions} versions`]: ['old.txt:1', 'old.txt:150', 'old.txt:301'],
    [`file of ${versions} versions`]: ['old.txt'],
  }
  const app = await openHome(home, playedModel(script))
  const figures = [await explained(app, here, kinds, false), await explained(app, here, kinds, true)]
  await app.close()
  return [...figures, commands(home, here, kinds.turn), ...(await measureSurveys(scratch))]
}

async function explained(app: App, folder: string, kinds: Record<string, string[]>, forward: boolean): Promise<Figure> {
  const all: number[] = []
  const each: string[] = []
  for (const [kind, references] of Object.entries(kinds)) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const reference = references[round % references.length] ?? ''
      times.push(await measure(() => app.why(folder, reference, { forward })))
    }
    all.push(...times)
    each.push(`${kind} ${shown(quantile(times, 0.95))}`)
  }
  const name = `why${forward ? ' --forward' : ''} at ${turns} turns, p95`
  const detail = `each by its short name, ${rounds} of a kind; p95 in ms: ${each.join(', ')}`
  return quantileFigure(name, 'ms', forward ? null : { atMost: 50 }, all, 0.95, detail)
}

function commands(home: string, folder: string, references: string[]): Figure {
  const times = references.slice(0, 8).map((reference) => {
    const began = performance.now()
    const env = { PATH: process.env['PATH'], HOME: home, HEDDLE_HOME: home }
    const heddle = join(import.meta.dirname, '../bin/heddle')
    const { status, stderr } = spawnSync(process.execPath, [heddle, 'why', reference], { cwd: folder, env })
    if (status !== 0) throw new Error(`heddle why ${reference} ended with ${status}: ${stderr}`)
    return performance.now() - began
  })
  return figure(`the command heddle why at ${turns} turns`, 'ms', null, times, 'a process of its own, from the sources')
}
