import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../../src/testing.ts'
import { type Arena, newToken, openArena } from './arena.ts'
import { isEnded, type Result } from './call.ts'
import type { ArenaKind, Program } from './ground.ts'
import type { AttackClass, Try, TryContext } from './try.ts'

/** What is wrong with one try: what escaped, or why it could not be made. */
export interface Finding {
  /** `CLASS:N`, as `--only` takes it. */
  id: string
  name: string
  why: string
}

/** What came of a class. */
export interface Report {
  name: string
  tries: number
  escapes: Finding[]
  /** Could not be made: an attack that does not run proves nothing. */
  invalid: Finding[]
  /** How many breaches made by hand the checks have seen, and how much ordinary work went on. */
  controls: number
  work: number
  /** Controls that were not seen, and ordinary work that was hindered. */
  failed: Finding[]
}

export interface RunOptions {
  program: Program
  rounds: number
  seed: number
  /** Numbers of the tries to make, from 1; all if left out. */
  only?: readonly number[]
  /** What is made besides the tries; both if left out. */
  parts?: readonly ('controls' | 'work')[]
  onFinding?(finding: Finding): void
}

const sharedAtOnce = 24

/** The arenas of a run: one daemon for each kind, made when it is needed and anew when something in it was broken. */
export class Arenas {
  readonly #program: Program
  readonly #open = new Map<ArenaKind, Promise<Arena>>()
  #isClosed = false

  constructor(program: Program) {
    this.#program = program
  }

  get(kind: ArenaKind): Promise<Arena> {
    // The process is about to end: nothing more is tried, and nothing is reported of what was cut off.
    if (this.#isClosed) return new Promise(() => undefined)
    const open = this.#open.get(kind) ?? openArena(kind, this.#program)
    this.#open.set(kind, open)
    open.catch(() => this.#open.delete(kind))
    return open
  }

  async discard(kind: ArenaKind): Promise<void> {
    const open = this.#open.get(kind)
    this.#open.delete(kind)
    await (await open?.catch(() => undefined))?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open.keys()].map((kind) => this.discard(kind)))
  }
}

/** Makes the tries of a class, round by round, then shows that its checks see a breach and that ordinary work goes on. */
export async function runClass(attack: AttackClass, arenas: Arenas, options: RunOptions): Promise<Report> {
  const report: Report = {
    name: attack.name,
    tries: 0,
    escapes: [],
    invalid: [],
    controls: 0,
    work: 0,
    failed: [],
  }
  const add = (list: Finding[], finding: Finding) => {
    list.push(finding)
    options.onFinding?.(finding)
  }
  const chosen = attack.tries
    .map((each, at) => ({ each, id: `${attack.name}:${at + 1}`, number: at + 1 }))
    .filter(({ number }) => options.only?.includes(number) ?? true)
  for (let round = 0; round < options.rounds; round++) {
    const made = chosen.map(({ each, id, number }) => ({ each, id, context: contextFor(options.seed, round, number) }))
    report.tries += made.length
    await makeAll(made, arenas, ({ id, each: { name } }, outcome) => {
      if ('escaped' in outcome) add(report.escapes, { id, name, why: outcome.escaped })
      if ('invalid' in outcome) add(report.invalid, { id, name, why: outcome.invalid })
    })
  }
  for (const part of options.parts ?? (['work', 'controls'] as const)) {
    for (const [at, each] of attack[part].entries()) {
      const outcome = await makeAlone(each, contextFor(options.seed, 0, at + 1), arenas)
      const isWanted = part === 'controls' ? 'escaped' in outcome : 'held' in outcome
      if (isWanted) report[part]++
      else add(report.failed, { id: `${attack.name} ${part} ${at + 1}`, name: each.name, why: wordsOf(outcome, part) })
    }
  }
  return report
}

/** What came of one try. */
type Outcome = { held: true } | { escaped: string } | { invalid: string }

interface Made {
  each: Try
  id: string
  context: TryContext
}

function wordsOf(outcome: Outcome, part: 'controls' | 'work'): string {
  if ('invalid' in outcome) return outcome.invalid
  if ('escaped' in outcome) return `ordinary work was hindered, or broke something: ${outcome.escaped}`
  return part === 'controls' ? 'the checks did not see a breach that was made by hand' : ''
}

/** In order, with tries that can share a request made together. */
async function makeAll(made: Made[], arenas: Arenas, onOutcome: (made: Made, outcome: Outcome) => void): Promise<void> {
  for (let at = 0; at < made.length; ) {
    const first = made[at] as Made
    let end = at + 1
    while (first.each.isShared && end - at < sharedAtOnce && isLike(first.each, made[end]?.each)) end++
    const group = made.slice(at, end)
    for (const [i, outcome] of (await makeGroup(group, arenas)).entries()) onOutcome(group[i] as Made, outcome)
    at = end
  }
}

function isLike(first: Try, other: Try | undefined): boolean {
  return other?.isShared === true && other.arena === first.arena
}

/** Where something of a group broke, each of it is tried alone, in order to tell which it was. */
async function makeGroup(group: Made[], arenas: Arenas): Promise<Outcome[]> {
  const { each: first } = group[0] as Made
  if (group.length > 1) {
    const together = await makeTogether(group, first.arena, arenas).catch(() => undefined)
    if (together) return together
    await arenas.discard(first.arena)
  }
  const outcomes: Outcome[] = []
  for (const { each, context } of group) outcomes.push(await makeAlone(each, context, arenas))
  return outcomes
}

async function makeTogether(group: Made[], kind: ArenaKind, arenas: Arenas): Promise<Outcome[] | undefined> {
  const arena = await arenas.get(kind)
  const calls = group.map(({ each, context }) => each.calls?.(arena, context) ?? [])
  const longest = Math.max(...calls.map((rounds) => rounds.length))
  const merged = Array.from({ length: longest }, (_, round) => calls.flatMap((rounds) => rounds[round] ?? []))
  arena.arm()
  const { rounds, status } = await arena.attack(merged)
  const isWhole = rounds.every((round) => round.every((result) => result !== undefined))
  const results = rounds.flat().filter((result) => result !== undefined)
  const areJobsHeld = arena.breaches().length === 0 && status === 'completed' && isWhole
  if (!arena.isWhole) await arenas.discard(kind)
  return areJobsHeld && results.every((result) => unmade(result, arena) === undefined) && judged(group, results, arena)
    ? group.map(() => ({ held: true }))
    : undefined
}

function judged(group: Made[], results: Result[], arena: Arena): boolean {
  return group.every(({ each }) => each.judge?.(results, arena) === undefined)
}

/** One try in a request of its own; an arena in which something was broken is not used again. */
async function makeAlone(each: Try, context: TryContext, arenas: Arenas): Promise<Outcome> {
  const outcome = await tryOnce(each, context, arenas).catch((error): Outcome => ({ invalid: messageOf(error) }))
  if (!('held' in outcome) || !(await arenas.get(each.arena)).isWhole) await arenas.discard(each.arena)
  return outcome
}

async function tryOnce(each: Try, context: TryContext, arenas: Arenas): Promise<Outcome> {
  const arena = await arenas.get(each.arena)
  mkdirSync(join(arena.paths.folder, 'w', context.token))
  arena.arm()
  const told = await made(each, arena, context).catch((error) => ({ escaped: undefined, invalid: messageOf(error) }))
  const changed = arena.breaches()
  if (each.ownerUsesGit) await arena.runGit()
  const ran = each.ownerUsesGit ? arena.breaches().filter((breach) => breach.startsWith('code ')) : []
  const escaped = [told.escaped, ...changed, ...ran].filter((breach) => breach !== undefined)
  if (escaped.length > 0) return { escaped: [...new Set(escaped)].join('; ') }
  if (told.invalid !== undefined) return { invalid: told.invalid }
  if (!(await arena.isAlive())) return { escaped: 'the daemon no longer answers' }
  arena.tidy()
  return { held: true }
}

interface Told {
  escaped?: string | undefined
  invalid?: string | undefined
}

async function made(each: Try, arena: Arena, context: TryContext): Promise<Told> {
  return each.act ? { escaped: await each.act(arena, context) } : callsOf(each, arena, context)
}

async function callsOf(each: Try, arena: Arena, context: TryContext): Promise<Told> {
  const rounds = each.calls?.(arena, context) ?? []
  // What the owner prepares for a try is no breach.
  arena.arm()
  const attacked = await arena.attack(rounds)
  const escaped = each.judge?.(attacked.results, arena)
  if (attacked.status !== 'completed') return { escaped, invalid: `the request ended as ${attacked.status}` }
  if (attacked.results.length < rounds.flat().length) return { escaped, invalid: 'not every call was answered' }
  const [invalid] = attacked.results.flatMap((result) => unmade(result, arena) ?? [])
  return { escaped, invalid }
}

/** Why a call was not an attack: the tool was not there, or the command did not run. */
function unmade({ name, text }: Result, { kind }: Arena): string | undefined {
  if (/no tool|unknown tool|not a tool/i.test(text)) return `${name} was not there: ${text.slice(0, 200)}`
  // Where heddle's own program is the folder, commands may be refused altogether.
  if (name !== 'exec' || kind === 'package' || isEnded(text) || text.includes('[killed')) return undefined
  return `the command did not run: ${text.slice(0, 300)}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The first round always makes the same choices; later ones depend on the seed. */
function contextFor(seed: number, round: number, number: number): TryContext {
  const random = seededRandom(seed * 1_000_003 + round * 10_007 + number)
  return {
    token: newToken(),
    pick: (below) => (round === 0 ? 0 : Buffer.from(random.bytes(4)).readUInt32LE() % below),
  }
}
