import { createHash } from 'node:crypto'
import { type Addition, type Called, lineOf, type Parts, partsWith } from './fuzz-calls.ts'
import type { FuzzHome, Said } from './fuzz-home.ts'

/** Longer than any command takes on a busy machine. */
const patience = 60_000

/** Options that change nothing in the prepared home although they are honoured, and why. */
const elsewhere: Record<string, string> = {
  '--yes': 'nobody is asked without a terminal, so nobody is spared a question',
  '--timeout': 'the work is done before the time is up',
  '--on-approval': 'nothing is asked in this talk',
  'log --graph': 'with --all it is drawn anyway',
  'memory narratives --limit': 'there is one narrative of this folder',
  'ps --limit': 'one run is not over',
  'search --limit': 'one turn of that session has the word',
  'search --kind': 'only turns have the word',
  'usage --limit': 'there is one model',
  'cron history --limit': 'the job has not fired',
  'subagent history --limit': 'there are no sub-agents',
  'memory export --all': 'the archive is empty',
  '--expect': 'it is at that version',
  'agents pin --session': 'without a scope the session main is meant',
  'agents unpin --session': 'without a scope the session main is meant',
  'up --port': 'this home has no page',
  'up --no-http': 'this home has no page',
  '--today': 'everything in this home is of today',
}

/** These go on until they are stopped. */
const staying = ['up', 'watch']

/** Values that say in other words what holds anyway. */
const sameAnyway: Record<string, string> = {
  'log --limit 0': 'means all, and there are few',
  'append --parent session:main': 'insists on the head that the session has',
}

interface Outcome {
  code: number
  /** A hash of what was said and what is stored now, without ids and times; of nothing when it is refused. */
  effect: string
}

/** Runs command lines in the prepared home and notes what they did wrong. */
export class Judge {
  readonly #home: FuzzHome
  readonly #known = new Map<string, Outcome>()
  #failures: string[] = []
  /** So many lines were run. */
  count = 0

  constructor(home: FuzzHome) {
    this.#home = home
  }

  takeFailures(): string[] {
    const found = this.#failures
    this.#failures = []
    return found
  }

  /** A line that cannot be meant must end with this code. */
  async mustRefuse(parts: Parts, wanted: 1 | 2): Promise<void> {
    for (const form of formsOf(parts)) {
      const { code } = await this.#outcome(parts, form)
      if (code !== wanted) this.#note(parts, form, `must end with ${wanted}, and ended with ${code}`)
    }
  }

  /** The usual call with these additions: without each of them it does something else. */
  async mustHonour(called: Called, additions: readonly Addition[]): Promise<void> {
    const whole = partsWith(called, additions)
    const withAll = await this.#effects(whole)
    if (withAll === undefined) return
    for (const addition of additions) {
      if (reasonFor(called, addition)) continue
      if (sameAnyway[[called.name, ...addition.words].join(' ')]) continue
      const rest = additions.filter((each) => each !== addition)
      // A list that is cut to one row may show the same row without it.
      if (rest.some(({ name }) => name === '--limit')) continue
      // An argument that follows it would take its place.
      if (addition.isArgument && rest.some(({ isArgument }) => isArgument)) continue
      const left = partsWith(called, rest)
      // It may be a part of the usual call.
      if (isSameLine(left, whole)) continue
      const without = await this.#effects(left)
      if (without === withAll) this.#note(whole, '', `does the same without ${addition.name}`)
    }
  }

  /** The usual call with another value of one argument does something else, or nothing. */
  async mustHonourArgument(called: Called, at: number, value: string): Promise<void> {
    const usual = partsWith(called, [])
    const args = [...usual.args.slice(0, at), value, ...usual.args.slice(at + 1)]
    // A session by its label, or as a reference.
    const isSame = [value, value.replace('session:', '')].includes(usual.args[at] ?? 'main')
    if (isSame || at > usual.args.length) return
    const other = await this.#effects({ ...usual, args })
    if (other !== undefined && other === (await this.#effects(usual)))
      this.#note({ ...usual, args }, '', 'does the same as with the usual argument')
  }

  /** What a line does in every form of its output; undefined when it is refused. */
  async #effects(parts: Parts): Promise<string | undefined> {
    const outcomes: Outcome[] = []
    for (const form of formsOf(parts)) outcomes.push(await this.#outcome(parts, form))
    return outcomes.some(({ code }) => code !== 0) ? undefined : outcomes.map(({ effect }) => effect).join('\n')
  }

  async #outcome(parts: Parts, form: string): Promise<Outcome> {
    const line = [...(form === '' ? [] : [form]), ...lineOf(parts)]
    const key = JSON.stringify(line)
    const known = this.#known.get(key)
    if (known) return known
    this.count++
    const said = await this.#run(parts, line)
    const after = this.#home.state()
    for (const wrong of troubles(parts, form, said, after !== this.#home.before)) this.#note(parts, form, wrong)
    const effect = said.code === 0 ? this.#home.steady([said.out, said.err, after].join('\n')) : ''
    const outcome = { code: said.code, effect: createHash('sha256').update(effect).digest('hex') }
    if (after !== this.#home.before) this.#home.putBack()
    this.#known.set(key, outcome)
    return outcome
  }

  async #run({ called, options }: Parts, line: string[]): Promise<Said> {
    const interrupted = staying.includes(called.name) || options.some(([flag]) => flag === '--watch')
    const late = Promise.withResolvers<Said>()
    const timer = setTimeout(() => late.resolve({ code: -1, out: '', err: 'does not end' }), patience)
    const said = this.#home.run(line, { input: called.input, interrupted })
    return Promise.race([said, late.promise])
      .catch((error: unknown) => ({ code: -1, out: '', err: `threw ${error}` }))
      .finally(() => clearTimeout(timer))
  }

  #note(parts: Parts, form: string, what: string): void {
    const words = [...(form === '' ? [] : [form]), ...lineOf(parts)].map((word) => JSON.stringify(word.slice(0, 60)))
    this.#failures.push(`heddle ${words.join(' ')} ${what}`)
  }
}

/** Whether two lines have the same words, in whichever order. */
function isSameLine(one: Parts, other: Parts): boolean {
  return lineOf(one).toSorted().join('\0') === lineOf(other).toSorted().join('\0')
}

/** For people and, unless the command is a talk, as one JSON document. */
function formsOf({ called }: Parts): string[] {
  return called.name === 'chat' ? [''] : ['', '--json']
}

function reasonFor({ name }: Called, { name: option }: Addition): string | undefined {
  return elsewhere[`${name} ${option}`] ?? elsewhere[option]
}

const codes = [0, 1, 2, 3, 124, 130]

function troubles({ options }: Parts, form: string, said: Said, isChanged: boolean): string[] {
  const { code, out, err } = said
  const isLines = options.some(([flag]) => flag === '--watch')
  const document = form === '' || isLines ? undefined : documentOf(out)
  const refusal = form === '' ? code !== 0 && out === '' : document?.['error'] !== undefined && code !== 0
  const remedy = form === '' ? / {2}→ \S/.test(err) : /\S/.test(errorOf(document)?.remedy ?? '')
  return [
    ...(codes.includes(code) ? [] : [`ended with ${code}: ${err}`]),
    ...(err.includes('met a bug') || errorOf(document)?.code === 'bug' ? [`met a bug: ${err.slice(0, 600)}`] : []),
    ...(/\n\s+at .*:\d+:\d+/.test(out + err) ? ['shows a stack trace'] : []),
    ...(form !== '' && !isLines && document === undefined ? [`is no JSON document: ${out.slice(0, 100)}`] : []),
    ...(refusal && !remedy ? [`is refused without a remedy: ${(err + out).slice(0, 200)}`] : []),
    ...(refusal && isChanged ? [`is refused, and changed something: ${(err + out).slice(0, 200)}`] : []),
  ]
}

function documentOf(out: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(out)
  } catch {
    return undefined
  }
}

function errorOf(document: Record<string, unknown> | undefined): { code?: string; remedy?: string } | undefined {
  return document?.['error'] as { code?: string; remedy?: string } | undefined
}
