import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { attackClasses, checkoutProgram, installedProgram, sampleOf } from '../test/attack/classes.ts'
import type { Program } from '../test/attack/ground.ts'
import { Arenas, type Report, runClass } from '../test/attack/run.ts'
import type { AttackClass } from '../test/attack/try.ts'
import { installPackage } from '../test/setup/install-package.ts'

// Attacks the built product with a model that obeys the attacker, and looks from outside at what came of it.
const usage = `npm run attack -- [class ...] [options]
  classes       ${attackClasses.map(({ name }) => name).join(', ')}; all if none is named
  --only ID     one try, such as paths:12; can be given several times
  --sample N    at most so many tries of each class, spread over its table
  --rounds N    makes every try so many times; from the second time on, spellings vary (1)
  --seed N      decides how they vary (1)
  --checkout    attacks the sources; otherwise the package is built, packed and installed first
  --built DIR   attacks a package that is installed already; also HEDDLE_ATTACK_BUILT
  --json        everything as one JSON document
  --help        this text
Exit code: 0 if nothing escaped, every try was made and every control passed; 1 if not; 2 for wrong arguments.`

const options = readArguments()
const workshop = mkdtempSync(join(tmpdir(), 'heddle-attack-'))
let arenas: Arenas | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(130))
await end(await main())

async function main(): Promise<number> {
  const program = findProgram()
  arenas = new Arenas(program)
  const reports: Report[] = []
  for (const attack of options.classes) {
    const only = numbersOf(attack)
    const parts = options.only.length > 0 ? [] : (['work', 'controls'] as const)
    const chosen = only === undefined ? {} : { only }
    const { rounds, seed } = options
    const onFinding = options.json ? () => undefined : tell
    reports.push(await runClass(attack, arenas, { program, rounds, seed, parts, onFinding, ...chosen }))
    if (!options.json) console.log(lineOf(reports.at(-1) as Report))
  }
  const sum = (of: (report: Report) => number) => reports.reduce((total, report) => total + of(report), 0)
  const total = {
    tries: sum(({ tries }) => tries),
    escapes: sum(({ escapes }) => escapes.length),
    invalid: sum(({ invalid }) => invalid.length),
    failed: sum(({ failed }) => failed.length),
  }
  if (options.json) console.log(JSON.stringify({ seed: options.seed, rounds: options.rounds, total, classes: reports }))
  else
    console.log(
      `${total.tries} tries, ${total.escapes} escapes, ${total.invalid} invalid, ${total.failed} controls failed`,
    )
  return total.escapes + total.invalid + total.failed === 0 ? 0 : 1
}

function tell({ id, name, why }: { id: string; name: string; why: string }): void {
  const again = /^\w+:\d+$/.test(id) ? `\n    again: npm run attack -- --only ${id} --seed ${options.seed}` : ''
  console.log(`  ${id}  ${name}\n    ${why}${again}`)
}

function lineOf({ name, tries, escapes, invalid, controls, work, failed }: Report): string {
  const counts = [`${tries} tries`, `${escapes.length} escapes`, `${invalid.length} invalid`]
  return `${name.padEnd(10)} ${[...counts, `${controls} breaches seen`, `${work} kinds of work went on`, `${failed.length} failed`].join(', ')}`
}

function numbersOf(attack: AttackClass): number[] | undefined {
  const named = options.only.filter(({ name }) => name === attack.name).map(({ number }) => number)
  if (options.only.length > 0) return named
  return options.sample === undefined ? undefined : sampleOf(attack, options.sample, options.sample)
}

function findProgram(): Program {
  if (options.checkout) return checkoutProgram()
  if (options.built !== undefined) return installedProgram(options.built)
  if (!options.json) console.log('building and installing the package; --checkout attacks the sources instead')
  return installedProgram(installPackage(workshop))
}

async function end(code: number): Promise<never> {
  await arenas?.close()
  rmSync(workshop, { recursive: true, force: true })
  process.exit(code)
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        only: { type: 'string', multiple: true, default: [] },
        sample: { type: 'string' },
        rounds: { type: 'string', default: '1' },
        seed: { type: 'string', default: '1' },
        checkout: { type: 'boolean', default: false },
        built: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      console.log(usage)
      process.exit(0)
    }
    const only = values.only.map(tryNamed)
    const names = [...positionals, ...only.map(({ name }) => name)]
    for (const name of positionals) classNamed(name)
    const classes = attackClasses.filter(({ name }) => names.length === 0 || names.includes(name))
    const built = values.built ?? process.env['HEDDLE_ATTACK_BUILT']
    return {
      classes,
      only,
      rounds: count('--rounds', values.rounds),
      seed: count('--seed', values.seed),
      sample: values.sample === undefined ? undefined : count('--sample', values.sample),
      checkout: values.checkout,
      built: built === undefined || values.checkout ? undefined : packageAt(built),
      json: values.json,
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

function classNamed(name: string): AttackClass {
  const found = attackClasses.find((attack) => attack.name === name)
  if (!found) throw new Error(`there is no class "${name}"`)
  return found
}

function tryNamed(id: string): { name: string; number: number } {
  const [, name = '', number = ''] = /^(\w+):(\d+)$/.exec(id) ?? []
  if (name === '') throw new Error(`"${id}" is not a try: write CLASS:N, such as paths:12`)
  const { tries } = classNamed(name)
  if (Number(number) < 1 || Number(number) > tries.length)
    throw new Error(`${name} has the tries 1 to ${tries.length}, not ${number}`)
  return { name, number: Number(number) }
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${option} takes a whole number from 1, not "${text}"`)
  return Number(text)
}

/** The package itself, or a directory that it is installed in. */
function packageAt(directory: string): string {
  const places = [resolve(directory), resolve(directory, 'node_modules/heddle')]
  const found = places.find((place) => existsSync(join(place, 'dist/cli/main.js')))
  if (!found) throw new Error(`there is no built heddle in ${directory}`)
  return found
}
